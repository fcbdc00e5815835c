// Names for screen readers that the theme and the gallery leave out.
document.addEventListener("DOMContentLoaded", () => {
  const name = (selector, text) =>
    document.querySelectorAll(selector).forEach((element) => {
      element.setAttribute("aria-label", text(element));
    });
  const words = (element) => element.textContent.trim().replace(/\s+/g, " ");
  name("summary:has(.toctree-toggle)", () => "Show the pages below");
  name(".search-button__button", (button) => words(button) || "Search");
  name(".sphx-glr-thumbcontainer a.internal", words);
  document
    .querySelectorAll("details.hide > summary")
    .forEach((summary) => summary.removeAttribute("aria-label")); // its text is "Solution"
});
