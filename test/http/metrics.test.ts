import { expect, test } from 'vitest';
import { endpointsOf } from '../../src/redis/endpoints.ts';
import { DELIVERY_COUNTS_KEY } from '../../src/redis/keys.ts';
import { createPool } from '../../src/postgres/pool.ts';
import { postgresUsedBytes } from '../../src/postgres/server-state.ts';
import { insert, message } from '../postgres/webhooks/messages.ts';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { opened } from '../stack/opened.ts';

const laurel = opened(() => startLaurel({ configuration: STUDY_APP }));

test('the admin port shows the backlog of Postgres; the application port does not', async () => {
  await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'u' }, value: 1 });
  const read = await fetch(`${laurel.adminUrl}/metrics`);
  expect(read.headers.get('Content-Type')).toContain('text/plain');
  const text = await read.text();
  expect(text).toMatch(/^laurel_outbox_entries\{server="[^"]+"\} 1$/m);
  expect(text).toMatch(/^laurel_persist_lag_seconds\{server="[^"]+"\} [\d.e-]+$/m);
  expect((await fetch(`${laurel.appUrl}/metrics`)).status).toBe(404);
});

test("measures the process's metrics when they are requested, not by a timer that would wake an idle process", async () => {
  const text = await (await fetch(`${laurel.adminUrl}/metrics`)).text();
  expect(text).toMatch(/^nodejs_eventloop_utilization\{process="frontend"\} [\d.e-]+$/m);
  expect(text).toMatch(/^process_cpu_seconds_total\{process="frontend"\} [\d.]+$/m);
  expect(text).not.toContain('nodejs_eventloop_lag_p99_seconds');
});

test('counts pending webhook messages and the outcomes of tries', async () => {
  const { body } = await laurel.admin.post('/v1/webhooks', [
    { name: 'one', url: 'https://hook.example', events: ['points.changed'] },
    { name: 'off', url: 'https://hook.example', events: ['points.changed'], enabled: false },
  ]);
  const [enabled, disabled] = body.created as [{ id: string }, { id: string }];
  const messages = [enabled, enabled, disabled].map(({ id }) => message(id, 'anna'));
  await insert(laurel.pool, messages, Date.now());
  await laurel.redis.hset(DELIVERY_COUNTS_KEY, { delivered: 7, timed_out: 2 });
  const text = await (await fetch(`${laurel.adminUrl}/metrics`)).text();
  expect(text).toMatch(/^laurel_webhook_messages_waiting 2$/m);
  expect(text).toMatch(/^laurel_webhook_oldest_waiting_seconds [\d.e-]+$/m);
  expect(text).toMatch(/^laurel_webhook_tries_total\{outcome="delivered"\} 7$/m);
  expect(text).toMatch(/^laurel_webhook_tries_total\{outcome="timed_out"\} 2$/m);
});

test('shows the size of Postgres, with its write-ahead log for a role that may see it, but no share of an unknown disk', async () => {
  const text = await (await fetch(`${laurel.adminUrl}/metrics`)).text();
  expect(Number(/^laurel_postgres_used_bytes (.*)$/m.exec(text)![1])).toBeGreaterThan(5_000_000);
  expect(text).not.toContain('laurel_postgres_disk_used_ratio');
  const pool = createPool(laurel.databaseUrl, { max: 1 });
  const all = await postgresUsedBytes(pool);
  const role = `plain_${process.pid}`;
  await pool.query(`CREATE ROLE ${role}`);
  await pool.query(`SET ROLE ${role}`);
  const withoutWal = await postgresUsedBytes(pool);
  await pool.query('RESET ROLE');
  await pool.query(`DROP ROLE ${role}`);
  await pool.end();
  // The first segment of the log has 16 MiB.
  expect(all - withoutWal).toBeGreaterThanOrEqual(16_777_216 / 2);
});

/** The value of a metric with these labels, each in its text form; undefined without one. */
async function valueOf(name: string, ...labels: string[]): Promise<number | undefined> {
  const text = await (await fetch(`${laurel.adminUrl}/metrics`)).text();
  const line = text
    .split('\n')
    .find((one) => one.startsWith(`${name}{`) && labels.every((label) => one.includes(label)));
  return line === undefined ? undefined : Number(line.split(' ').at(-1));
}

test('counts requests by operation and class of status, script calls by script, events by call', async () => {
  const requests = (status: string) =>
    valueOf('laurel_http_request_duration_seconds_count', 'operation="metrics_event"', `status="${status}"`);
  const calls = () => valueOf('laurel_script_call_duration_seconds_count', 'script="commit"');
  const [good = 0, called = 0, eventCalls = 0] = [
    await requests('2xx'),
    await calls(),
    await valueOf('laurel_events_per_call_count'),
  ];
  await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'u' }, value: 1 });
  await laurel.app.post('/v1/metrics/unknown/event', { user: { id: 'u' }, value: 1 });
  expect(await requests('2xx')).toBe(good + 1);
  expect(await requests('4xx')).toBe(1);
  expect(await calls()).toBe(called + 1);
  expect(await valueOf('laurel_events_per_call_count')).toBe(eventCalls + 1);
  expect(await valueOf('laurel_http_requests_in_flight', 'surface="application"')).toBe(0);
});

test('counts refusals by reason, those of keys by what was wrong with the key', async () => {
  const refused = (reason: string) => valueOf('laurel_http_refusals_total', `reason="${reason}"`);
  await laurel.app.get('/v1/leaderboards', { key: null });
  await laurel.app.get('/v1/leaderboards', { key: 'no_such.key-key-key' });
  const unknownPath = (await refused('unknown_path')) ?? 0;
  await fetch(`${laurel.appUrl}/nowhere`);
  await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'u' } });
  expect(await refused('key_missing')).toBe(1);
  expect(await refused('key_unknown')).toBe(1);
  expect(await refused('unknown_path')).toBe(unknownPath + 1);
  expect(await refused('unprocessable')).toBe(1);
});

test('counts pending batches, and reports how long the oldest has waited', async () => {
  await laurel.redis.xadd('{s0}:batches', '1000-0', 'x', 'y');
  const text = await (await fetch(`${laurel.adminUrl}/metrics`)).text();
  expect(text).toMatch(/^laurel_batches_waiting\{server="[^"]+"\} 1$/m);
  expect(Number(/^laurel_batches_oldest_waiting_seconds\{server="[^"]+"\} (\S+)$/m.exec(text)?.[1])).toBeGreaterThan(
    1e6,
  );
});

test('while one master of a cluster is down, reports that, and everything that needs no answer from it', async () => {
  const several = await startLaurel({ cluster: true });
  try {
    const read = async () => (await fetch(`${several.adminUrl}/metrics`)).text();
    const [first, second, third] = endpointsOf(several.redis).map(({ name }) => name);
    const [, held] = endpointsOf(several.redis).map(({ shards }) => String(shards.length));
    const of = (text: string, metric: string): [string, string][] =>
      [...text.matchAll(new RegExp(`^${metric}\\{.*?server="([^"]+)"[^}]*\\} (\\S+)$`, 'gm'))].map(
        ([, server, value]) => [server!, value!],
      );
    const expected = [
      ['laurel_up', '1'],
      ['laurel_outbox_entries', '0'],
      ['laurel_redis_shards_closed', '0'],
      ['laurel_redis_rebuilds_total', '0'],
    ].map(([metric, value]) => [metric, [first, second, third].map((server) => [server, value])]);
    const found = async () => {
      const text = await read();
      return expected.map(([metric]) => [metric, of(text, String(metric)).filter(([server]) => server !== 'postgres')]);
    };
    // On a busy machine some shards open after the start.
    await expect.poll(found).toEqual(expected);
    endpointsOf(several.redis)[1]!.redis.disconnect();
    await expect.poll(async () => of(await read(), 'laurel_redis_shards_closed')).toContainEqual([second, held]);
    await expect
      .poll(async () => of(await read(), 'laurel_up'))
      .toEqual([
        [first, '1'],
        [second, '0'],
        [third, '1'],
        ['postgres', '1'],
      ]);
    for (const metric of ['laurel_outbox_entries', 'laurel_persist_lag_seconds', 'laurel_batches_waiting'])
      await expect.poll(async () => of(await read(), metric).map(([server]) => server)).toEqual([first, third]);
    const text = await read();
    expect(text).toMatch(/^laurel_dead_letters 0$/m);
    expect(text).toMatch(/^laurel_http_requests_in_flight\{/m);
    await endpointsOf(several.redis)[1]!.redis.connect();
  } finally {
    await several.close();
  }
});
