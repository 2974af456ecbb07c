import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { untilPersisted } from '../../src/engine/persist/cursor-wait.ts';
import type { MergeMoment } from '../../src/engine/users/user-merges.ts';
import { startLaurel } from '../laurel.ts';
import type { DyingWorkers } from './dying-workers.ts';
import { differencesIn } from '../differences.ts';
import { exitOf, messageOf } from '../stack/child-process.ts';

interface MergedUsers {
  from: string;
  into: string;
}

interface DyingMergeOptions {
  processes: DyingWorkers;
  laurel: Parameters<typeof startLaurel>[0];
  /** Environment of the workers. */
  env?: Record<string, string>;
}

/** A Laurel with a webhook of merges, in which the frontend that merges two users and a worker are killed. */
export async function startDyingMerge({ processes, laurel: options, env }: DyingMergeOptions) {
  const laurel = await startLaurel(options);
  const hook = { name: 'Hook', url: 'https://example.com/hook', events: ['user.merged'] };
  await laurel.admin.post('/v1/webhooks?strict=true', [hook]);
  const redis = await laurel.connect();
  let worker: ChildProcess | undefined;
  await startWorker();

  /** In place of one that has ended or is to die. */
  async function startWorker(): Promise<void> {
    worker?.kill('SIGKILL');
    worker = processes.start(laurel, env);
    await messageOf(worker);
  }

  /** Sends an event of one user until it is answered. Returns the status. */
  async function send(id: string, key: string): Promise<number> {
    for (;;) {
      const headers = { 'Idempotency-Key': key };
      const { status } = await laurel.app.post('/v1/metrics/m/event', { user: { id }, value: 1 }, { headers });
      if (status !== 503) return status;
      await sleep(10);
    }
  }

  const rows = async (sql: string, ...values: unknown[]): Promise<unknown[]> =>
    (await laurel.pool.query(sql, values)).rows;

  /** Asks for a merge until it is answered. */
  async function merge({ from, into }: MergedUsers): Promise<unknown> {
    for (;;) {
      const { status, body } = await laurel.admin.post('/v1/users/merge', { from, into, acrossControlGroup: true });
      if (status !== 503) return body.status;
      await sleep(10);
    }
  }

  /** Merges at a frontend that is killed at a moment. The worker is killed at a step. Resolves with what waits for its end. */
  async function killDuring(
    { from, into }: MergedUsers,
    moment: MergeMoment,
    step: string,
  ): Promise<{ workerEnds: () => Promise<unknown> }> {
    const dying = await processes.startFrontend(laurel, `merge ${moment}`);
    const dyingWorker = worker!;
    // One that replaced a killed worker may not have stored the earlier events yet. It is to die with those of the merge.
    for (const id of [from, into]) await untilPersisted({ redis, pool: laurel.pool }, 0, id);
    await processes.dieAt(dyingWorker, step, 1);
    const merging = fetch(`${dying.adminUrl}/v1/users/merge`, {
      method: 'POST',
      headers: { 'X-API-KEY': laurel.adminKey, 'Content-Type': 'application/json' },
      body: JSON.stringify({ from, into, acrossControlGroup: true }),
    });
    await expect(merging).rejects.toThrow();
    expect(await exitOf(dying.child)).toEqual([null, 'SIGKILL']);
    return { workerEnds: () => exitOf(dyingWorker) };
  }

  /** Expects Postgres to hold the events and one message about the merge, and to agree with Redis. */
  async function expectStored({ from, into }: MergedUsers, events: number): Promise<void> {
    await expect
      .poll(() =>
        rows('SELECT user_id AS id, count(*)::int AS n FROM events WHERE user_id = ANY ($1) GROUP BY 1', [from, into]),
      )
      .toEqual([{ id: into, n: events }]);
    const reported = `SELECT payload::jsonb -> 'merge' ->> 'from' AS "from" FROM webhook_messages WHERE user_id = $1`;
    expect(await rows(reported, into)).toEqual([{ from }]);
    expect(await differencesIn({ redis, pool: laurel.pool })).toEqual([]);
  }

  async function close(): Promise<void> {
    processes.close();
    redis.disconnect();
    await laurel.close();
  }

  return { laurel, send, rows, merge, killDuring, startWorker, expectStored, close };
}
