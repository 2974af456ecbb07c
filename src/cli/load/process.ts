import { Generator, type LoadJob, type LoadOutcome, type Second } from './generator.ts';
import type { LedgerParts } from './ledger.ts';

/** What the parent sends: a job, then `go` when all processes are ready; `stop` ends it early. */
export type ToProcess = { type: 'job'; job: LoadJob } | { type: 'go' } | { type: 'stop' };

/** What a process answers. `failed`: it could not connect. */
export type FromProcess =
  | { type: 'ready' }
  | { type: 'second'; second: Second }
  | { type: 'done'; outcome: LoadOutcome; ledger: LedgerParts | null }
  | { type: 'failed'; message: string };

/** A separate process that makes load, so that its CPU and its pauses are those of nothing else. */
let generator: Generator | null = null;
let job: LoadJob | null = null;

const report = (message: FromProcess): void => void process.send?.(message);

async function prepare(asked: LoadJob): Promise<void> {
  job = asked;
  generator = new Generator(asked, (second) => report({ type: 'second', second }));
  await generator.connect();
  report({ type: 'ready' });
}

async function go(): Promise<void> {
  const outcome = await generator!.run();
  report({ type: 'done', outcome, ledger: job!.verify ? generator!.ledger.parts() : null });
}

process.on('message', (message: ToProcess) => {
  if (message.type === 'stop') return generator?.stop();
  (message.type === 'job' ? prepare(message.job) : go()).catch((error: NodeJS.ErrnoException) =>
    report({ type: 'failed', message: error.code ?? error.message }),
  );
});
process.once('disconnect', () => process.exit(0));
// A terminal sends Ctrl-C to the whole group; the parent decides.
process.on('SIGINT', () => undefined);
