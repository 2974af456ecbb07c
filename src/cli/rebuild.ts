import type { Command } from 'commander';

/** Adds `laurel rebuild`. */
export function addRebuild(laurel: Command): void {
  laurel
    .command('rebuild')
    .description('Rebuild Redis from Postgres; a running Laurel answers 503 until it is done')
    // What it needs is loaded when it is wanted: other commands start in a third of the time.
    .action(async () => (await import('./run-rebuild.ts')).runRebuild());
}
