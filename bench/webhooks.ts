/**
 * What delivering to webhooks costs: has one worker send N messages (default 20,000), signed twice, to a receiver on this
 * machine, and prints deliveries a second and the CPU of each in the worker and in Postgres. Then the delay of a good webhook,
 * from the commit of a message to its arrival, beside dead ones (default 1,000) of which half refuse and half hang.
 *
 *   npm run bench:webhooks -- [messages] [dead webhooks]
 *
 * Uses a temporary Postgres; the receiver is a process of its own.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { Resources } from '../src/catalog/resources.ts';
import { systemClock } from '../src/clock.ts';
import { MessageLog } from '../src/engine/webhooks/message-log.ts';
import { Sender } from '../src/engine/webhooks/sender.ts';
import { NOTIFICATION_EXAMPLES } from '../src/domain/notification-examples.ts';
import type { NewMessage } from '../src/domain/notification.ts';
import { freePort } from '../src/local/free-port.ts';
import { startPostgres } from '../src/local/postgres-server.ts';
import { migrate } from '../src/postgres/migrate.ts';
import { createPool } from '../src/postgres/pool.ts';
import { transaction } from '../src/postgres/transaction.ts';
import { insertMessages } from '../src/postgres/webhooks/insert-messages.ts';
import { deliverWorker } from '../workers/jobs/deliver.ts';
import { processCpu, treeCpu } from './cpu.ts';
import type { ReceiverReport } from './webhooks/receiver.ts';

const MESSAGES = Number(process.argv[2] ?? 20_000);
const DEAD = Number(process.argv[3] ?? 1_000);
const GOOD_WEBHOOKS = 4;
const USERS = 1_000;
const INSERTED_TOGETHER = 500;
const TIMED = 200;
const EVERY_MS = 100;

const directory = join(tmpdir(), `laurel-bench-webhooks-${randomUUID()}`);
const postgres = await startPostgres({ directory, password: 'bench', temporary: true });
const pool = createPool(postgres.url, { max: 4 });
const deliveryPool = createPool(postgres.url, { max: 3 });
const receiver: ChildProcess = fork(new URL('webhooks/receiver.js', import.meta.url));
const [{ port }] = (await once(receiver, 'message')) as [{ port: number }];
const log = pino({ level: 'silent' });

const say = (name: string, value: number, digits = 1): void =>
  console.log(`${name.padEnd(64)} ${value.toFixed(digits)}`);

async function webhooks(urls: readonly string[]): Promise<string[]> {
  const resources = new Resources({ pool, announce: async () => undefined, clock: systemClock });
  const { result } = await resources.edit(0, { who: 'bench' }, (draft) =>
    urls.map(
      (url) =>
        draft.create('webhook', { name: 'bench', url, events: ['points.changed'], enabled: true, secretNo: 1 }).id,
    ),
  );
  return result;
}

const payload = JSON.stringify(NOTIFICATION_EXAMPLES['points.changed']);
const message = (webhookId: string, user: number): NewMessage => ({
  id: randomUUID(),
  webhookId,
  tenantNo: 0,
  type: 'points.changed',
  userId: `user-${user}`,
  atMs: Date.now(),
  payload,
});

async function insert(messages: readonly NewMessage[]): Promise<void> {
  for (let from = 0; from < messages.length; from += INSERTED_TOGETHER)
    await transaction(pool, (client) =>
      insertMessages(client, messages.slice(from, from + INSERTED_TOGETHER), Date.now()),
    );
}

const worker = () =>
  deliverWorker({
    pool: deliveryPool,
    clock: systemClock,
    sender: new Sender({ timeoutMs: 60_000, allowPrivate: true }),
    log,
    disable: async () => false,
    pendingLimit: 1_000_000,
  });

async function untilEmpty(): Promise<void> {
  while ((await pool.query('SELECT FROM webhook_queue LIMIT 1')).rowCount !== 0) await sleep(50);
}

try {
  await migrate(pool);
  const days = new MessageLog({ pool, days: 7 });
  await days.perform(0, new AbortController().signal, 0, Date.now());
  const good = await webhooks(Array.from({ length: GOOD_WEBHOOKS }, (_, n) => `http://127.0.0.1:${port}/${n}`));
  console.log(`${MESSAGES} messages of ${payload.length} bytes to ${GOOD_WEBHOOKS} webhooks on this machine`);

  const server = treeCpu(postgres.pid);
  await insert(Array.from({ length: MESSAGES }, (_, n) => message(good[n % GOOD_WEBHOOKS]!, n % USERS)));
  say('Postgres CPU to queue one, µs', ((treeCpu(postgres.pid) - server) * 1e6) / MESSAGES);

  const before = { cpu: processCpu(process.pid), postgres: treeCpu(postgres.pid), ms: performance.now() };
  const first = worker();
  await untilEmpty();
  const seconds = (performance.now() - before.ms) / 1000;
  say('deliveries a second of one worker', MESSAGES / seconds, 0);
  say('worker CPU of a delivery, µs', ((processCpu(process.pid) - before.cpu) * 1e6) / MESSAGES);
  say('Postgres CPU of a delivery, µs', ((treeCpu(postgres.pid) - before.postgres) * 1e6) / MESSAGES);
  await first.close();

  const refusing = await freePort();
  const urls = Array.from({ length: DEAD }, (_, n) =>
    n % 2 === 0 ? `http://127.0.0.1:${refusing}/${n}` : `http://127.0.0.1:${port}/hang/${n}`,
  );
  const dead = await webhooks(urls);
  const [timed] = await webhooks([`http://127.0.0.1:${port}/timed`]);
  const arrived = new Map<string, number>();
  receiver.on('message', (report: ReceiverReport) => {
    if ('id' in report) arrived.set(report.id, report.atMs);
  });
  await insert(dead.flatMap((id) => Array.from({ length: 20 }, (_, user) => message(id, user))));
  const second = worker();
  const queued = new Map<string, number>();
  for (let n = 0; n < TIMED; n += 1) {
    const one = message(timed!, n % 10);
    await insert([one]);
    queued.set(one.id, Date.now());
    second.look();
    await sleep(EVERY_MS);
  }
  while (arrived.size < TIMED) await sleep(10);
  const delays = [...queued].map(([id, atMs]) => arrived.get(id)! - atMs).toSorted((a, b) => a - b);
  console.log(`\n${TIMED} messages to a good webhook beside ${DEAD} dead ones, each with 20 messages`);
  say('delay, median, ms', delays[TIMED / 2]!);
  say('delay, 99 of 100, ms', delays[Math.floor(TIMED * 0.99)]!);
  say('delay, longest, ms', delays.at(-1)!);
  receiver.disconnect();
  await second.close();
} finally {
  if (receiver.connected) receiver.disconnect();
  await Promise.all([pool.end(), deliveryPool.end()]);
  await postgres.stop();
}
