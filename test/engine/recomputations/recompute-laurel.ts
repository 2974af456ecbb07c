import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { RecomputationDetails, RecomputationRequest } from '../../../src/domain/administration/recomputation.ts';
import type { TestLaurel } from '../../laurel.ts';

const UNDER_WAY = ['planning', 'applying', 'reverting'];

/** A recomputation, once nothing of it is in progress. */
export async function atRest({ admin }: Pick<TestLaurel, 'admin'>, id: string): Promise<RecomputationDetails> {
  for (;;) {
    const { status, body } = await admin.get(`/v1/recomputations/${id}`);
    expect(status).toBe(200);
    if (!UNDER_WAY.includes(body.status)) return body;
    await sleep(50);
  }
}

/** Plans a recomputation. */
export async function plan(laurel: TestLaurel, request: RecomputationRequest): Promise<RecomputationDetails> {
  const { status, body } = await laurel.admin.post('/v1/recomputations', request);
  expect({ status, body }).toMatchObject({ status: 202 });
  return atRest(laurel, body.id);
}

/** Applies or reverts one. */
export async function make(laurel: TestLaurel, id: string, what: 'apply' | 'revert'): Promise<RecomputationDetails> {
  const { status, body } = await laurel.admin.post(`/v1/recomputations/${id}/${what}`, undefined);
  expect({ status, body }).toMatchObject({ status: 202 });
  return atRest(laurel, id);
}

/** Resolves when all backdatings are done. */
export async function backdated({ admin }: Pick<TestLaurel, 'admin'>): Promise<void> {
  const isDone = async (): Promise<boolean> =>
    !/"status":"(?!done)/.test(JSON.stringify((await admin.get('/v1/backdatings')).body));
  while (!(await isDone())) await sleep(50);
}

/** Resolves when all leaderboards are filled. */
export async function filled({ admin }: Pick<TestLaurel, 'admin'>): Promise<void> {
  const isDone = async (): Promise<boolean> =>
    !/"status":"(?!done)/.test(JSON.stringify((await admin.get('/v1/leaderboard-fillings')).body));
  while (!(await isDone())) await sleep(50);
}
