import { get } from 'node:http';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import type { Log } from '../../src/telemetry/log.ts';
import { around } from '../../src/telemetry/spans.ts';
import { openTraces } from '../../src/telemetry/open-traces.ts';
import type { Traces } from '../../src/telemetry/traces.ts';
import type { Answer } from '../engine/webhooks/receiver.ts';
import { ADMIN_KEY, startServer } from '../http/server-fixture.ts';
import { operation } from '../../src/operations/operation.ts';
import { SpanReceiver } from './seen-spans.ts';

const ERROR = 2;
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
/** On a busy machine pending spans are sent, too: abandoned requests leave their timers behind. */
const FLUSH_MS = 60_000;

let spans: SpanReceiver;
let plan: Answer;
let warnings: { fields: Record<string, unknown>; message: string }[];
let traces: Traces;
const log: Log = {
  info: () => undefined,
  error: () => undefined,
  warn: (fields, message) => void warnings.push({ fields: fields as Record<string, unknown>, message }),
};
const open = async (sampler = { byParent: true, ratio: 1 }): Promise<Traces> =>
  (await openTraces({ url: `${spans.endpoint}/v1/traces`, sampler }, 'test', log, FLUSH_MS))!;

beforeEach(async () => {
  warnings = [];
  plan = 200;
  spans = await SpanReceiver.start(() => plan);
  traces = await open();
});
afterEach(async () => {
  await traces.close();
  await spans.close();
});

test('does nothing without settings', async () => {
  expect(await openTraces(null, 'test', log)).toBeNull();
});

test('limits spans that cannot be sent', async () => {
  const held: (() => void)[] = [];
  plan = (_request, response) => void held.push(() => response.end());
  const make = (): void => {
    for (let made = 0; made < 5_000; made += 1)
      traces.ended(traces.root({ name: `span`, isCall: false, attributes: () => ({}) })!);
  };
  make();
  await expect.poll(() => held.length).toBe(1);
  make();
  plan = 200;
  held[0]!();
  await traces.close();
  // Those in flight, and those that may wait.
  expect(spans.spans.length).toBe(512 + 2_048);
});

test('logs a failing receiver once, without headers', async () => {
  plan = 400;
  for (let made = 0; made < 2_000; made += 1)
    traces.ended(traces.root({ name: `span`, isCall: false, attributes: () => ({}) })!);
  await expect.poll(() => warnings.length).toBe(1);
  await traces.close();
  expect(warnings).toHaveLength(1);
  expect(warnings[0]!.message).toBe('spans could not be sent, or not all of them');
});

test.each([
  [{ byParent: true, ratio: 0 }, '01', true],
  [{ byParent: true, ratio: 1 }, '00', false],
  [{ byParent: false, ratio: 1 }, '00', true],
  [{ byParent: false, ratio: 0 }, '01', false],
])('with %o a request whose caller decided %s is sampled: %s', async (sampler, flags, isSampled) => {
  const other = await open(sampler);
  onTestFinished(() => other.close());
  const span = other.request({ name: 'x', attributes: {} }, `00-${TRACE}-${PARENT}-${flags}`);
  expect(span !== null).toBe(isSampled);
  if (span !== null) expect(span.spanContext().traceId).toBe(TRACE);
});

test('work in a span: its result, and its error without the text', async () => {
  const root = { name: 'work', isCall: false, attributes: () => ({ no: 1 }) };
  expect(await around(null, root, async (span) => span)).toBeNull();
  expect(await around(traces, root, async (span) => span?.setAttribute('more', 2) && 'done')).toBe('done');
  const failing = around(traces, root, async () => Promise.reject(new RangeError('ada@example.org')));
  await expect(failing).rejects.toThrow('ada@example.org');
  await traces.close();
  expect(spans.spans).toMatchObject([
    { name: 'work', attributes: { no: 1, more: 2 } },
    { name: 'work', attributes: { no: 1, 'error.type': 'RangeError' }, status: ERROR },
  ]);
  expect(JSON.stringify(spans.spans)).not.toContain('ada@');
});

test('a request that meets a fault is an error of its span, and its log line has the trace', async () => {
  const faulty = operation('faulty_get', 'GET /v1/faulty', {
    summary: 'Fails',
    responses: { 200: null },
    handle: async () => Promise.reject(new Error('inside')),
  });
  const { server, client, errors } = await startServer({ traces, more: [faulty] });
  expect((await client.get('/v1/faulty')).status).toBe(500);
  expect((await client.get('/v1/things/no-uuid')).status).toBe(404);
  server.close();
  await traces.close();
  const [fault, refused] = spans.spans;
  expect(fault).toMatchObject({ name: 'faulty_get', status: ERROR, attributes: { 'error.type': '500' } });
  expect(errors).toMatchObject([{ fields: { traceId: fault!.traceId, operation: 'faulty_get' } }]);
  expect(refused).toMatchObject({ name: 'things_get', attributes: { 'http.response.status_code': 404 } });
  expect(refused!.status).not.toBe(ERROR);
});

test('a request whose client leaves before it is handled has an end', async () => {
  const { server, port } = await startServer({ traces });
  const path = '/v1/slow';
  const headers = { 'X-API-KEY': ADMIN_KEY, 'Content-Type': 'application/json', 'Content-Length': '100' };
  const left = get({ port, path, method: 'POST', headers });
  left.on('error', () => undefined);
  left.write('{');
  await expect.poll(() => server.inFlight).toBe(1);
  left.destroy();
  await expect.poll(() => server.inFlight).toBe(0);
  server.close();
  await traces.close();
  expect(spans.spans).toMatchObject([{ name: 'slow_post', attributes: { 'error.type': 'client_left' } }]);
});
