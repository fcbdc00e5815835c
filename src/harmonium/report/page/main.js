// The page: reads its content, and builds itself.

import { comparison } from "./comparison.js";
import { lesson } from "./lesson.js";
import { live } from "./live.js";
import { report } from "./report.js";

const PAGES = { comparison, lesson, live, report };

export const shown = { content: null };

if (typeof document !== "undefined") {
  const text = document.getElementById("content")?.textContent;
  if (text) {
    shown.content = JSON.parse(text);
    PAGES[shown.content.kind](shown.content, document.querySelector("main"));
  }
}
