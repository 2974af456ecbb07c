import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { transaction } from '../../../src/postgres/transaction.ts';
import { deleteUser } from '../../../src/postgres/persist/users.ts';
import { TOO_MANY_WAIT } from '../../../src/postgres/webhooks/messages.ts';
import { insert, message } from '../../postgres/webhooks/messages.ts';
import { DeliveryBed } from './delivery-bed.ts';
import { hang, Receiver, type Answer, type Received } from './receiver.ts';
import { addTo } from '../../../src/grouped.ts';
import { opened } from '../../stack/opened.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
let receivers: Receiver[];
const bed = opened(() => DeliveryBed.create());
beforeEach(() => void (receivers = []));
afterEach(async () => {
  await bed.closeWorkers();
  for (const receiver of receivers) await receiver.close();
  await bed.pool.query('DELETE FROM webhook_queue');
  bed.outcomes.length = 0;
});

async function receiver(plan?: (request: Received) => Answer): Promise<Receiver> {
  const started = await Receiver.start(plan);
  receivers.push(started);
  return started;
}

/** A webhook that sends to a receiver. */
async function webhook(plan?: (request: Received) => Answer): Promise<{ id: string; receiver: Receiver }> {
  const to = await receiver(plan);
  const [id] = await bed.webhooks(to.url);
  return { id: id!, receiver: to };
}

/** Resolves when this many tries of a webhook's messages are recorded. */
const tried = (id: string, times: number): Promise<void> => expect.poll(() => bed.tries(id)).toBe(times);
/** Resolves when nothing is pending. */
const empty = (): Promise<void> => expect.poll(() => bed.waiting()).toBe(0);

const userOf = ({ body }: Received): string => (JSON.parse(body) as { userId: string }).userId;
const users = (count: number, of: number): string[] => Array.from({ length: count }, (_, n) => `user-${n % of}`);
/** Sequences sent to each user, in the order of arrival. */
function sequences(received: readonly Received[]): Map<string, number[]> {
  const found = new Map<string, number[]>();
  for (const one of received) addTo(found, userOf(one), Number(one.headers['webhook-sequence']));
  return found;
}
const ascending = (numbers: readonly number[]): number[] => numbers.toSorted((a, b) => a - b);

describe('pending messages', () => {
  test('are sent at once, each once, those about one user in their order', async () => {
    const { id, receiver: to } = await webhook();
    bed.worker();
    const sent = [...(await bed.send(id, users(300, 7))), ...(await bed.send(id, users(300, 7)))];
    await empty();
    expect(to.ids.toSorted()).toEqual(sent.map((message) => message.id).toSorted());
    for (const each of sequences(to.received).values()) expect(each).toEqual(ascending(each));
    const log = await bed.log(id);
    expect(log.map(({ status, tries }) => [status, tries.length])).toEqual(sent.map(() => ['delivered', 1]));
    expect(log[0]!.tries[0]).toEqual({
      at: expect.any(Number) as number,
      durationMs: expect.any(Number) as number,
      status: 200,
      error: null,
      answer: '',
    });
  });

  test('one message about a user is in flight at a time, and up to 16 about others', async () => {
    const underWay = new Map<string, number>();
    let [most, arrived] = [0, 0];
    const { id } = await webhook((request) => (_request, response) => {
      const user = userOf(request);
      const now = (underWay.get(user) ?? 0) + 1;
      underWay.set(user, now);
      expect(now).toBe(1);
      most = Math.max(
        most,
        [...underWay.values()].reduce((a, b) => a + b),
      );
      // Until this many are under way, answers take longer and longer, and at last than any worker needs to send the others.
      arrived += 1;
      const answersInMs = most < 16 ? 250 + 5 * arrived : 2;
      setTimeout(() => {
        underWay.set(user, 0);
        response.end();
      }, answersInMs);
    });
    bed.worker();
    // One user has most of them.
    await bed.send(id, [...users(200, 1), ...users(600, 40), ...users(200, 1)]);
    await empty();
    expect(most).toBe(16);
    expect(bed.outcomes).toEqual(Array.from({ length: 1_000 }, () => 'delivered'));
  });

  test('are found by a worker that nobody wakes, and by its successor', async () => {
    const { id, receiver: to } = await webhook();
    const first = bed.worker();
    await bed.send(id, ['anna']);
    await empty();
    await first.close();
    await bed.send(id, ['anna']);
    bed.worker();
    await empty();
    expect(to.received).toHaveLength(2);
  });

  test('that nobody announced are sent when a worker checks all webhooks', async () => {
    const { id, receiver: to } = await webhook();
    const worker = bed.worker();
    await bed.send(id, ['anna']);
    await empty();
    await insert(bed.pool, [message(id, 'bob')], bed.clock.now());
    worker.lookForAll();
    await empty();
    expect(to.received).toHaveLength(2);
  });

  test('of a deleted user are not sent', async () => {
    const { id, receiver: to } = await webhook();
    const [, other] = await bed.send(id, ['gone', 'stays']);
    await transaction(bed.pool, (client) => deleteUser(client, { tenantNo: 0, userId: 'gone' }, async () => undefined));
    bed.worker();
    await empty();
    expect(to.ids).toEqual([other!.id]);
  });
});

describe('a failing try', () => {
  test('is followed by seven others at their times; then the message has failed, and stays in the log', async () => {
    const { id, receiver: to } = await webhook(() => 500);
    bed.worker({ firstPauseMs: 1 });
    const [message] = await bed.send(id, ['anna']);
    const steps = [1, 5, 30, 120, 300, 600, 600];
    for (const [index, minutes] of steps.entries()) {
      await tried(id, index + 1);
      expect(await bed.log(id)).toMatchObject([{ status: 'pending' }]);
      const { rows } = await bed.pool.query<{ due_ms: number }>('SELECT due_ms FROM webhook_queue');
      const delayMs = rows[0]!.due_ms - bed.clock.now();
      expect(delayMs).toBeGreaterThanOrEqual(0.8 * minutes * MINUTE_MS);
      expect(delayMs).toBeLessThanOrEqual(1.2 * minutes * MINUTE_MS);
      bed.advance(delayMs - 1);
      bed.advance(1);
    }
    await tried(id, 8);
    await empty();
    expect(await bed.log(id)).toMatchObject([{ status: 'failed', tries: [0, ...steps].map(() => ({ status: 500 })) }]);
    expect(new Set(to.ids)).toEqual(new Set([message!.id]));
  });

  test('does not delay later messages, and arrives after them', async () => {
    const refused: string[] = [];
    const { id, receiver: to } = await webhook((request) => {
      const first = userOf(request) === 'anna' && refused.length === 0;
      if (first) refused.push(String(request.headers['webhook-id']));
      return first ? 503 : 200;
    });
    bed.worker();
    const sent = await bed.send(id, ['anna', 'anna', 'ben']);
    await tried(id, 3);
    expect(refused).toEqual([sent[0]!.id]);
    bed.advance(2 * MINUTE_MS);
    await empty();
    expect(to.ids).toHaveLength(4);
    expect(to.ids.at(-1)).toBe(sent[0]!.id);
  });

  test('comes again when the receiver asks for it, up to twice the step', async () => {
    const { id } = await webhook(
      () => (_request, response) => void response.writeHead(429, { 'retry-after': '3600' }).end(),
    );
    bed.worker();
    await bed.send(id, ['anna']);
    await tried(id, 1);
    const { rows } = await bed.pool.query<{ due_ms: number }>('SELECT due_ms FROM webhook_queue');
    expect(rows[0]!.due_ms - bed.clock.now()).toBe(2 * MINUTE_MS);
  });
});

describe('a webhook that accepts nothing', () => {
  test('is left alone after ten failures in a row, then tried once at a time, and gets everything once it recovers', async () => {
    let well = false;
    const arrivedMs: number[] = [];
    const { id, receiver: to } = await webhook(() => {
      arrivedMs.push(performance.now());
      return well ? 200 : 500;
    });
    bed.worker({ firstPauseMs: 300 });
    await bed.send(id, users(40, 40));
    // One try is let through, after which it is left alone for twice as long.
    await expect.poll(() => bed.tries(id)).toBeGreaterThanOrEqual(12);
    const { rows } = await bed.pool.query(
      'SELECT failures >= 12 AS counted, open_until > now() - interval $$1 minute$$ AS open FROM webhook_state WHERE webhook_id = $1',
      [id],
    );
    expect(rows).toEqual([{ counted: true, open: true }]);
    const pauses = [10, 11].map((nth) => arrivedMs[nth]! - arrivedMs[nth - 1]!);
    // A timer may be a millisecond early.
    expect(pauses.map((ms, nth) => ms >= 300 * 2 ** nth - 1)).toEqual([true, true]);
    well = true;
    bed.advance(10 * MINUTE_MS);
    await empty();
    expect(new Set(to.ids).size).toBe(40);
    expect(await bed.log(id)).toMatchObject(users(40, 40).map(() => ({ status: 'delivered' })));
  });

  test('is still left alone after a restart', async () => {
    const { id, receiver: to } = await webhook(() => 500);
    const worker = bed.worker({ firstPauseMs: 600_000 });
    await bed.send(id, users(40, 40));
    await tried(id, 10);
    await worker.close();
    bed.worker({ firstPauseMs: 600_000 });
    const well = await webhook();
    await bed.send(well.id, ['anna']);
    await expect.poll(() => well.receiver.received.length).toBe(1);
    expect(to.received).toHaveLength(10);
  });

  test('delays no other webhook, however many refuse or hang', async () => {
    const dead = await receiver(() => hang);
    const gone = await Receiver.start();
    await gone.close();
    const urls = Array.from({ length: 1_000 }, (_, n) => `${n % 2 === 0 ? dead.url : gone.url}${n}`);
    const deadIds = await bed.webhooks(...urls);
    const good = await webhook();
    await insert(
      bed.pool,
      deadIds.flatMap((id) => users(20, 20).map((user) => message(id, user))),
      bed.clock.now(),
    );
    bed.worker({ timeoutMs: 120_000 });
    for (let n = 0; n < 10; n += 1) await bed.send(good.id, users(10, 10));
    await expect.poll(() => good.receiver.received.length).toBe(100);
    // They have all been tried, and those that hang still do.
    await expect.poll(() => dead.received.length).toBe(500);
    await expect.poll(async () => new Set(bed.outcomes).has('unreachable')).toBe(true);
    expect(bed.outcomes).not.toContain('timed_out');
    await dead.close();
    receivers.splice(receivers.indexOf(dead), 1);
  });

  test('is disabled after five days, with an entry in the audit log; what is pending is sent once it is enabled', async () => {
    let well = false;
    const { id, receiver: to } = await webhook(() => (well ? 200 : 500));
    bed.worker({ firstPauseMs: 1 });
    const [first] = await bed.send(id, ['anna']);
    await tried(id, 1);
    bed.advance(5 * DAY_MS - 1);
    await tried(id, 2);
    bed.advance(1 * DAY_MS);
    await tried(id, 3);
    const enabled = async (): Promise<boolean | undefined> =>
      (await bed.resources.read(0)).webhooks.find((each) => each.id === id)?.enabled;
    await expect.poll(enabled).toBe(false);
    const { rows } = await bed.pool.query(
      'SELECT who, action, before, after FROM audit_log WHERE id = $1 ORDER BY no DESC LIMIT 1',
      [id],
    );
    expect(rows).toEqual([
      { who: 'webhook delivery (failing)', action: 'update', before: { enabled: true }, after: { enabled: false } },
    ]);
    const state = await bed.pool.query('SELECT disabled_reason AS reason FROM webhook_state WHERE webhook_id = $1', [
      id,
    ]);
    expect(state.rows).toEqual([{ reason: 'every try failed for 5 days' }]);

    well = true;
    const [second] = await bed.send(id, ['anna']);
    bed.advance(1 * DAY_MS);
    // Another one gets messages, and it does not.
    const other = await webhook();
    await bed.send(other.id, ['ben']);
    await expect.poll(() => other.receiver.received.length).toBe(1);
    expect(to.received).toHaveLength(3);
    await bed.enable(id, { enabled: true });
    await empty();
    expect(to.ids.slice(3).toSorted()).toEqual([first!.id, second!.id].toSorted());
  });

  test('is disabled at once if it answers 410, unless its URL has changed by then', async () => {
    const { id, receiver: to } = await webhook(() => 410);
    bed.worker();
    await bed.send(id, ['anna', 'ben', 'carla']);
    const enabled = async (): Promise<boolean | undefined> =>
      (await bed.resources.read(0)).webhooks.find((each) => each.id === id)?.enabled;
    await expect.poll(enabled).toBe(false);
    expect(to.received).toHaveLength(1);
    const next = await receiver();
    await bed.enable(id, { enabled: true, url: next.url });
    bed.advance(2 * MINUTE_MS);
    await empty();
    expect(next.received).toHaveLength(3);
  });
});

test('pending messages of a disabled or deleted webhook are not sent', async () => {
  const [disabled, deleted] = [await webhook(), await webhook()];
  await bed.send(disabled.id, ['anna']);
  await bed.send(deleted.id, ['anna']);
  await bed.enable(disabled.id, { enabled: false });
  await bed.resources.edit(0, { who: 'test' }, (draft) => void draft.remove('webhook', deleted.id));
  const well = await webhook();
  await bed.send(well.id, ['anna']);
  bed.worker();
  await expect.poll(() => well.receiver.received.length).toBe(1);
  expect([...disabled.receiver.received, ...deleted.receiver.received]).toEqual([]);
  await bed.enable(disabled.id, { enabled: true });
  await expect.poll(() => disabled.receiver.received.length).toBe(1);
  expect(deleted.receiver.received).toEqual([]);
});

test('a webhook with a full queue gets nothing more into it until there is room', async () => {
  let well = false;
  const { id, receiver: to } = await webhook(() => (well ? 200 : hang));
  const worker = bed.worker({ pendingLimit: 5, timeoutMs: 200, leaseMs: 600, firstPauseMs: 1 });
  const isFull = async (): Promise<boolean> => {
    // Then queues are measured.
    worker.lookForAll();
    return (await bed.pool.query('SELECT is_full FROM webhook_state WHERE webhook_id = $1', [id])).rows[0]!.is_full;
  };
  await bed.send(id, users(5, 5));
  await expect.poll(isFull).toBe(true);
  await bed.send(id, ['late']);
  expect((await bed.log(id)).at(-1)).toMatchObject({ status: 'failed', tries: [] });
  const { rows } = await bed.pool.query('SELECT reason FROM webhook_messages WHERE webhook_id = $1 AND failed', [id]);
  expect(rows).toEqual([{ reason: TOO_MANY_WAIT }]);
  well = true;
  // A try that was in flight fails a little later.
  await expect
    .poll(() => {
      bed.advance(10 * MINUTE_MS);
      return bed.waiting();
    })
    .toBe(0);
  await expect.poll(isFull).toBe(false);
  expect(new Set(to.ids).size).toBe(5);
});

test('two workers send everything once, in order', async () => {
  const bad = await webhook(() => 500);
  const good = [await webhook(), await webhook(), await webhook()];
  bed.worker();
  bed.worker();
  const sent: string[] = [];
  for (let n = 0; n < 20; n += 1) {
    await bed.send(bad.id, ['anna']);
    for (const { id } of good) sent.push(...(await bed.send(id, users(20, 3))).map((message) => message.id));
  }
  for (const { receiver: to } of good) {
    await expect.poll(() => to.received.length).toBe(400);
    for (const each of sequences(to.received).values()) expect(each).toEqual(ascending(each));
  }
  expect(good.flatMap(({ receiver: to }) => to.ids).toSorted()).toEqual(sent.toSorted());
});

test('another worker replaces one that cannot reach Postgres for longer than its lease lasts', async () => {
  const { id, receiver: to } = await webhook(() => hang);
  // Long enough for a busy machine to renew it.
  const lost = bed.worker({ leaseMs: 5_000, timeoutMs: 300_000 });
  await bed.send(id, ['anna']);
  await expect.poll(() => to.received.length).toBe(1);
  await bed.cutOff(lost);
  to.plan = () => 200;
  bed.worker();
  // It finds nothing to do at first and gets no wake-up: it knows when the lease is over.
  await expect.poll(() => bed.waiting()).toBe(0);
  expect(to.ids).toEqual([to.ids[0], to.ids[0]]);
  await to.close();
  receivers.splice(0);
  await lost.close();
});

test('a lease of another worker that ends while this one looks is not missed', async () => {
  const { id, receiver: to } = await webhook();
  await bed.send(id, ['anna']);
  await bed.pool.query(
    `UPDATE webhook_state SET holder = gen_random_uuid(), held_until = clock_timestamp() + interval '1 s' WHERE webhook_id = $1`,
    [id],
  );
  const isOver = async (): Promise<boolean> =>
    (await bed.pool.query('SELECT FROM webhook_state WHERE held_until < clock_timestamp() AND webhook_id = $1', [id]))
      .rowCount === 1;
  let looks = 0;
  // Between the statement that takes leases and the one that reads when others end, in any order.
  const before = async (text: string): Promise<void> => {
    if (/freeInMs/.test(text) && (looks += 1) === 1) await expect.poll(isOver).toBe(true);
  };
  bed.worker({ before });
  await empty();
  expect(to.received).toHaveLength(1);
});

describe('sharing the tries that a process has in flight', () => {
  const several = opened(() => DeliveryBed.create());
  beforeAll(async () => {
    await several.tenants(6);
  });
  afterEach(async () => {
    await several.closeWorkers();
    await several.pool.query('DELETE FROM webhook_queue');
  });

  /** Webhooks of a tenant, each with a receiver of its own. */
  async function webhooksOf(
    tenantNo: number,
    plans: readonly ((request: Received) => Answer)[],
  ): Promise<{ id: string; receiver: Receiver }[]> {
    const to = await Promise.all(plans.map((plan) => receiver(plan)));
    const ids = await several.webhooksOf(
      tenantNo,
      to.map(({ url }) => url),
    );
    return to.map((each, n) => ({ id: ids[n]!, receiver: each }));
  }
  const arrived = (to: readonly { receiver: Receiver }[]): number =>
    to.reduce((sum, each) => sum + each.receiver.received.length, 0);

  test('a tenant whose receivers all hang leaves slots for others, and for its own other webhooks', async () => {
    // Each accepts its first messages, so that as many as possible are sent to it at a time. The others are sent with them:
    // a webhook without messages is given back, and would start again with one at a time.
    const hostile = await webhooksOf(
      1,
      users(12, 12).map(() => {
        let accepted = 0;
        return () => (accepted < 40 ? ((accepted += 1), 200) : hang);
      }),
    );
    const before = 12 * 40;
    several.worker({ slots: 160, timeoutMs: 300_000 });
    for (const { id } of hostile) await several.send(id, users(80, 80), 1);
    // Until no more arrive: they could have 192 in flight. The last 10 slots of the tenant's 80 are for webhooks without a
    // try, which all of them may have by then.
    let last = 0;
    const isStill = (): boolean => last === (last = arrived(hostile)) && last - before >= 70;
    await expect.poll(isStill, { interval: 1_000 }).toBe(true);

    const [other] = await webhooksOf(2, [() => 200]);
    await several.send(other!.id, users(200, 20), 2);
    await expect.poll(() => other!.receiver.received.length).toBe(200);
    const [own] = await webhooksOf(1, [() => 200]);
    await several.send(own!.id, users(40, 20), 1);
    await expect.poll(() => own!.receiver.received.length).toBe(40);
    // Nothing of what hangs has ended meanwhile, and the tenant has no more than its share.
    expect(several.outcomes.filter((outcome) => outcome !== 'delivered')).toEqual([]);
    expect(arrived(hostile) - before).toBeLessThanOrEqual(80);
    for (const { receiver: to } of hostile) await to.close();
    receivers = receivers.filter((each) => !hostile.some(({ receiver: to }) => to === each));
  });

  test('a released slot goes to the tenant that has waited longest, not to the one that released it', async () => {
    const order: number[] = [];
    const ends: (() => void)[] = [];
    const held: Answer = (_request, response) => void ends.push(() => response.end());
    const planOf = (tenantNo: number) => (): Answer => {
      order.push(tenantNo);
      return held;
    };
    const hooks: string[] = [];
    for (let tenantNo = 1; tenantNo <= 6; tenantNo += 1)
      hooks.push((await webhooksOf(tenantNo, [planOf(tenantNo)]))[0]!.id);
    let takes = 0;
    several.worker({ slots: 3, timeoutMs: 300_000, onStep: (step) => void (takes += step === 'taken' ? 1 : 0) });
    for (const [index, id] of hooks.entries()) {
      await several.send(id, users(3, 3), index + 1);
      // Three of them take all slots; the others wait, in this order.
      if (index < 3) await expect.poll(() => order.length).toBe(index + 1);
      else await expect.poll(() => taken(id)).toBe(true);
    }
    // The last one waits for a slot once its messages are claimed, a moment after its lease.
    let before = 0;
    await expect.poll(() => before === (before = takes), { interval: 3_000 }).toBe(true);
    expect(order).toEqual([1, 2, 3]);
    for (let n = 0; n < 6; n += 1) {
      ends[n]!();
      await expect.poll(() => order.length).toBe(n + 4);
    }
    // The first three wait again from when their tries ended.
    expect(order).toEqual([1, 2, 3, 4, 5, 6, 1, 2, 3]);
  });

  /** Whether a process sends to a webhook, or waits for a slot to. */
  async function taken(webhookId: string): Promise<boolean> {
    const { rowCount } = await several.pool.query(
      'SELECT FROM webhook_state WHERE webhook_id = $1 AND holder IS NOT NULL',
      [webhookId],
    );
    return rowCount === 1;
  }
});
