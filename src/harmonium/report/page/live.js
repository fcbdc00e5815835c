// A run that goes on: asks the server of the page for news, and shows them.

import { count, make } from "./dom.js";
import { Report } from "./report.js";

const EVERY = 1_000; // milliseconds between two questions
const MOST_FAILURES = 3; // questions without an answer, before the page gives up

/** Return a duration as a clock shows it. */
function clock(seconds) {
  const all = Math.round(seconds);
  const two = (number) => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(all / 3600), Math.floor(all / 60) % 60];
  return hours ? `${hours}:${two(minutes)}:${two(all % 60)}` : `${minutes}:${two(all % 60)}`;
}

/** Build the page of a run that has not ended. */
export function live(content, into) {
  const page = new Report(content, into);
  const words = make("span", { role: "status" }, "");
  const bar = make("progress", { max: 1, value: 0, "aria-label": "part of the run that is done" });
  const line = make("p", { class: "progress" }, bar, words);
  into.querySelector("h1").after(line);
  new Follower(page, content, into, (part, text) => {
    if (part === null) bar.removeAttribute("value");
    else bar.value = part;
    words.textContent = text;
  }).ask();
}

class Follower {
  constructor(page, content, into, tell) {
    Object.assign(this, { page, into, tell, history: content.history, version: content.version, failures: 0 });
  }

  async ask() {
    try {
      const answer = await fetch(`news?records=${this.history.length}&model=${this.version}`);
      if (!answer.ok) throw new Error(answer.statusText);
      this.failures = 0;
      this.take(await answer.json());
    } catch (error) {
      this.failures += 1;
      if (this.failures >= MOST_FAILURES) {
        this.tell(0, "No answer: the run has ended, or was stopped. This is the last that it reported.");
        return;
      }
    }
    if (!this.ended) setTimeout(() => this.ask(), EVERY);
  }

  take({ records, first, progress, model, version, report }) {
    if (report) {
      this.ended = true;
      new Report(report, this.into);
      return;
    }
    // Fewer records than before: the run restarted at a smaller rate.
    const isNew = records.length > 0 || model || first < this.history.length;
    this.history = [...this.history.slice(0, first), ...records];
    this.version = version;
    const { epoch, epochs, left, stage } = progress;
    const part = stage === "training" && epochs ? epoch / epochs : null;
    this.tell(part, stage === "training"
      ? `training: epoch ${count(epoch)} of ${count(epochs)}${left === null ? "" : `, ${clock(left)} left`}`
      : stage);
    if (isNew) this.page.follow({ history: this.history, model });
  }
}
