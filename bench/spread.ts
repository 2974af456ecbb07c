/**
 * Spreading a tenant over several shards and back: users per second, and how long events of another tenant take meanwhile,
 * compared with the time before.
 *
 *   npm run bench -- spread [thousands of users] [rounds]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { askPatiently } from '../src/cli/admin-api.ts';
import { loadCatalog } from '../src/postgres/catalog.ts';
import { median } from './rows.ts';
import { steadyEvents } from './load.ts';
import { cpuOfStoring, settled, startStack } from './stack.ts';
import { storeUsers } from './stored-users.ts';

const USERS = Number(process.argv[2] ?? 200) * 1_000;
const ROUNDS = Number(process.argv[3] ?? 3);
const TENANTS = { spread: 'large', other: 'other' };
const SHARDS = [16, 1];
const RATE = 500;
const SECONDS_BEFORE = 10;

interface JobAnswer {
  id: string;
  status: string;
  error: string | null;
  started: string;
  finished: string;
}

const stack = await startStack({ users: 0 });
try {
  /** Patiently, because shards close for a moment when a conversion begins. */
  const ask = <T>(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH',
    path: string,
    { tenant, ...sent }: { body?: unknown; tenant?: string } = {},
  ): Promise<T> =>
    askPatiently<T>({ ...stack.admin, ...(tenant && { tenant }) }, { method, path: `/v1${path}`, ...sent });
  const { multiTenancy: _, ...configuration } = await ask<Record<string, unknown>>('GET', '/configuration');
  await ask('PATCH', '/organisation', { body: { multiTenancy: true } });
  const tenants = Object.values(TENANTS);
  await ask('POST', '/tenants', { body: tenants.map((customerId) => ({ customerId, name: customerId })) });
  for (const tenant of tenants) await ask('PUT', '/configuration', { body: configuration, tenant });
  const catalog = (await loadCatalog(stack.pool, 1))!;
  await storeUsers(stack.pool, catalog, USERS);

  const send = steadyEvents(stack, catalog, { rate: RATE, tenants: [TENANTS.other] });
  /** Seconds that spreading took. */
  const spread = async (shards: number): Promise<number> => {
    const tenant = TENANTS.spread;
    const { id } = await ask<JobAnswer>('PUT', '/spread', { body: { shards }, tenant });
    for (;;) {
      const job = await ask<JobAnswer>('GET', `/jobs/${id}`, { tenant });
      if (job.error !== null) throw new Error(job.error);
      if (job.status === 'done') return (Date.parse(job.finished) - Date.parse(job.started)) / 1_000;
      await sleep(100);
    }
  };
  const cpu = () => cpuOfStoring(stack);
  await settled(stack);
  await spread(SHARDS[0]!);
  let seconds = await spread(SHARDS[1]!);
  for (const shards of SHARDS) {
    const before = await cpu();
    seconds = await spread(shards);
    const [worker, redis, postgres] = (await cpu()).map((after, no) => ((after - before[no]!) / USERS) * 1e6);
    console.log(
      `to ${shards} shards: ${Math.round(USERS / seconds).toLocaleString('en')} users/s; CPU in µs per user: ` +
        `worker ${worker!.toFixed(0)}, Redis ${redis!.toFixed(0)}, Postgres ${postgres!.toFixed(0)}`,
    );
  }
  const ratios: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1)
    for (const shards of SHARDS) {
      const before = await send(SECONDS_BEFORE);
      // The load ends before the conversion does.
      const [meanwhile, took] = await Promise.all([send(Math.max(1, seconds * 0.8)), spread(shards)]);
      seconds = took;
      const ratio = meanwhile.p99 / before.p99;
      ratios.push(ratio);
      console.log(
        `to ${shards} shards: another tenant's p99 ${before.p99.toFixed(1)} ms before, ${meanwhile.p99.toFixed(1)} ms meanwhile ` +
          `(${ratio.toFixed(2)}); statuses ${JSON.stringify(meanwhile.statuses)}`,
      );
    }
  console.log(`p99 meanwhile / before: median ${median(ratios).toFixed(2)}`);
} finally {
  await stack.stop();
}
