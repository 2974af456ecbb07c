/** How long a step takes before the screen says that it still runs, and how often it says so, ms. */
const STILL_MS = 5_000;

/**
 * Shows the steps of a start: a line when a step begins, one every five seconds while it runs, and one with its duration. `say`
 * prints a line. Steps run one after another.
 */
export class StartSteps {
  private readonly say: (line: string) => void;
  private readonly of: number;
  private no = 0;

  constructor({ steps, say }: { steps: number; say: (line: string) => void }) {
    this.say = say;
    this.of = steps;
  }

  /** Runs a step. `name`: what it does; `waitsFor`: what it waits for if it takes long. The error of the step is thrown on. */
  async run<T>({ name, waitsFor }: { name: string; waitsFor: string }, work: () => Promise<T>): Promise<T> {
    const startedMs = performance.now();
    const seconds = (digits: number): string => ((performance.now() - startedMs) / 1000).toFixed(digits);
    this.no += 1;
    const label = `[${this.no}/${this.of}] ${name}`;
    this.say(`${label} …`);
    const timer = setInterval(() => this.say(`      waiting for ${waitsFor} (${seconds(0)} s)`), STILL_MS);
    try {
      const result = await work();
      this.say(`${label}: ${seconds(1)} s`);
      return result;
    } finally {
      clearInterval(timer);
    }
  }
}
