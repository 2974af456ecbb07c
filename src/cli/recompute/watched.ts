import { setTimeout as sleep } from 'node:timers/promises';
import type { Recomputation, RecomputationDetails } from '../../domain/recomputation.ts';
import { askAdmin, type AdminOptions } from '../admin-api.ts';
import { CommandError } from '../command-error.ts';
import { progressBar } from '../progress.ts';

const LOOK_MS = 500;
const UNDER_WAY: readonly string[] = ['planning', 'applying', 'reverting'];

export const pathOf = (id: string): string => `/v1/recomputations/${encodeURIComponent(id)}`;

/** One with its samples. */
export const readOne = async (options: AdminOptions, id: string): Promise<RecomputationDetails> =>
  (await askAdmin(options, { method: 'GET', path: pathOf(id) })) as RecomputationDetails;

/** Follows one until it is at rest; how far it is goes to standard error. A failed one ends the command. */
export async function watched(options: AdminOptions, { id }: Recomputation): Promise<RecomputationDetails> {
  const report = progressBar();
  for (;;) {
    const job = await readOne(options, id);
    const { users, of } = job.progress;
    report({ step: job.status, done: users, total: of });
    if (!UNDER_WAY.includes(job.status)) report(null);
    if (job.status === 'failed') throw new CommandError(`The recomputation failed: ${job.error ?? 'unknown'}`);
    if (!UNDER_WAY.includes(job.status)) return job;
    await sleep(LOOK_MS);
  }
}
