import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { JobRunner, type JobRunnerOptions, type JobWork } from '../../../src/engine/schedule/job-runner.ts';
import { addJob } from '../../../src/postgres/jobs.ts';
import { testDatabase } from '../../postgres/database.ts';
import { opened } from '../../stack/opened.ts';

const database = opened(() => testDatabase());

test('the next worker of a supervisor takes over the job of one that exited; the other workers wait for the lease', async () => {
  const { pool } = database;
  const done: string[] = [];
  const runner = (name: string, options: Partial<JobRunnerOptions>): JobRunner => {
    const work: JobWork = {
      kinds: ['event_retention'],
      title: 'test',
      slice: async (_, record) => {
        if (await record(async () => ({ end: 'done' }))) done.push(name);
      },
    };
    return new JobRunner({ pool, works: [work], ...options });
  };
  await addJob(pool, { kind: 'event_retention', tenantNo: null });
  const [dead, next] = [randomUUID(), randomUUID()];
  let goOn = (): void => undefined;
  const leased = new Promise<void>((resolve) => {
    const first = runner('dead', {
      runs: { run: dead, ended: [] },
      onMoment: (moment) => {
        if (moment !== 'leased') return undefined;
        resolve();
        return new Promise<void>((going) => (goOn = going));
      },
    });
    stopped = first.step();
  });
  await leased;
  expect(await runner('other', { runs: { run: next, ended: [randomUUID()] } }).step()).toBe(false);
  expect(await runner('next', { runs: { run: next, ended: [randomUUID(), dead] } }).step()).toBe(true);
  // Even if the first one was alive, it could not record anything.
  goOn();
  await stopped;
  expect(done).toEqual(['next']);
});
let stopped: Promise<boolean>;
