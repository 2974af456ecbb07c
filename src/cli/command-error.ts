import { createInterface } from 'node:readline/promises';

/** What a command's exit code says, as diff(1) does it. */
export const EXIT = {
  done: 0,
  /** Of a command that compares: there are differences. */
  differs: 1,
  /** It could not be done, or was refused; standard error says why. */
  failed: 2,
} as const;

/** A command ends early: `message` is shown as it is, without a stack trace. */
export class CommandError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.failed) {
    super(message);
    this.name = 'CommandError';
    this.exitCode = exitCode;
  }
}

/** Asks in the terminal; whether the answer is yes. */
export async function agreed(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(question);
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}
