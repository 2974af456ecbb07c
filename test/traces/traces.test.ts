import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { hang, Receiver } from '../engine/webhooks/receiver.ts';
import { Installation } from './installation.ts';
import { SpanReceiver, type SeenSpan } from './seen-spans.ts';

// Runs `npm start`; the spans go to a server of this test.

const EVENT = '/v1/metrics/flashcards-flipped/event';
const SPAN_KIND = { internal: 1, server: 2, client: 3 };
const ERROR = 2;
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';

let number = 0;
const sendEvent = async (installation: Installation, headers: Record<string, string> = {}): Promise<void> => {
  const body = { user: { id: `traced-${++number}` }, value: 1 };
  expect((await installation.app.post(EVENT, body, { headers })).status).toBe(201);
};

describe('an installation that samples all spans', () => {
  let spans: SpanReceiver;
  let hook: Receiver;
  let laurel: Installation;
  beforeAll(async () => {
    spans = await SpanReceiver.start();
    hook = await Receiver.start();
    laurel = await Installation.start({
      OTEL_EXPORTER_OTLP_ENDPOINT: spans.endpoint,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-team=games,x-text=a%20b',
      OTEL_SERVICE_NAME: 'rewards',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      TEST_CLOCK: '1',
      WEBHOOK_ALLOW_PRIVATE: '1',
    });
  });
  afterAll(async () => {
    await laurel.close();
    await Promise.all([spans.close(), hook.close()]);
  });

  const until = async (found: () => SeenSpan | undefined): Promise<SeenSpan> => {
    await expect.poll(found).toBeDefined();
    return found()!;
  };

  test('an event: its request continues the caller’s trace, the call of the script is below it', async () => {
    await sendEvent(laurel, { traceparent: `00-${TRACE}-${PARENT}-01`, 'X-Request-Id': 'of-the-event' });
    const request = await until(() => spans.named('metrics_event').find(({ traceId }) => traceId === TRACE));
    expect(request).toMatchObject({ parentSpanId: PARENT, kind: SPAN_KIND.server });
    expect(request.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/v1/metrics/{key}/event',
      'url.path': '/v1/metrics/{key}/event',
      'url.scheme': 'http',
      'http.response.status_code': 201,
      'laurel.surface': 'application',
      'laurel.request_id': 'of-the-event',
    });
    expect(request.resource).toMatchObject({
      'service.name': 'rewards',
      'deployment.environment.name': 'test',
      'laurel.process': 'frontend',
    });
    const call = await until(() => spans.named('commit').find(({ traceId }) => traceId === TRACE));
    expect(call).toMatchObject({ parentSpanId: request.spanId, kind: SPAN_KIND.client });
    expect(call.links).toMatchObject([{ traceId: TRACE, spanId: request.spanId }]);
    expect(call.attributes).toMatchObject({ 'db.system.name': 'redis', 'laurel.events': 1 });
    expect(spans.receiver.received[0]!.headers).toMatchObject({ 'x-team': 'games', 'x-text': 'a b' });
  });

  test('the call for several events is linked with the requests of all', async () => {
    const shared = (): SeenSpan | undefined =>
      spans.named('commit').find(({ attributes }) => Number(attributes['laurel.events']) > 2);
    await expect
      .poll(async () => {
        await Promise.all(Array.from({ length: 20 }, () => sendEvent(laurel)));
        return shared();
      })
      .toBeDefined();
    const call = shared()!;
    expect(call.links).toHaveLength(Number(call.attributes['laurel.events']));
    const requests = (): (SeenSpan | undefined)[] =>
      call.links.map(({ spanId }) => spans.named('metrics_event').find((one) => one.spanId === spanId));
    await expect.poll(requests).not.toContain(undefined);
    const [first, ...others] = requests() as SeenSpan[];
    expect(call).toMatchObject({ traceId: first!.traceId, parentSpanId: first!.spanId });
    for (const { links } of others) expect(links).toMatchObject([{ traceId: call.traceId, spanId: call.spanId }]);
    expect(new Set(others.map(({ traceId }) => traceId)).size).toBe(others.length);
  });

  test('the call that creates a user is below its request', async () => {
    await laurel.app.post('/v1/users', { id: 'new' });
    const request = await until(() => spans.named('users_create')[0]);
    const call = await until(() => spans.named('commit').find(({ parentSpanId }) => parentSpanId === request.spanId));
    expect(call.traceId).toBe(request.traceId);
  });

  test('a step of a batch, which a worker applies, begins a trace', async () => {
    const batch = ['one', 'two', 'three'].map((id) => ({ key: 'flashcards-flipped', user: { id }, value: 1 }));
    expect((await laurel.admin.post('/v1/metrics/events?wait=true', batch)).status).toBe(200);
    const step = await until(() =>
      spans.named('commit').find(({ resource }) => resource['laurel.process'] === 'worker'),
    );
    expect(step).toMatchObject({ parentSpanId: '', kind: SPAN_KIND.client, attributes: { 'laurel.events': 3 } });
  });

  test('so are the calls of administrators', async () => {
    await laurel.admin.post('/v1/streaks/pauses', {
      pauses: [{ userId: 'new', start: '2090-01-01', end: '2090-01-02' }],
    });
    await laurel.admin.delete('/v1/users?ids=new');
    for (const operation of ['admin_streaks_pauses_create', 'admin_users_delete']) {
      const request = await until(() => spans.named(operation)[0]);
      const call = await until(() => spans.named('commit').find(({ parentSpanId }) => parentSpanId === request.spanId));
      expect(call.traceId).toBe(request.traceId);
    }
  });

  test('a refusal is no error of the span', async () => {
    await laurel.app.get('/v1/users/nobody');
    const request = await until(() => spans.named('users_get')[0]);
    expect(request.attributes['http.response.status_code']).toBe(404);
    expect(request.status).not.toBe(ERROR);
  });

  test('a transaction that persists begins a trace', async () => {
    const persist = await until(() =>
      spans.named('persist').find(({ attributes }) => attributes['laurel.outcome'] === 'stored'),
    );
    expect(persist).toMatchObject({ parentSpanId: '', kind: SPAN_KIND.client });
    expect(persist.attributes).toMatchObject({ 'db.system.name': 'postgresql' });
    expect(persist.resource).toMatchObject({ 'service.name': 'rewards', 'laurel.process': 'worker' });
  });

  test('a try to deliver contains its number, and has the receiver continue its trace', async () => {
    hook.plan = () => (hook.received.length === 1 ? 503 : 200);
    const events = ['achievement.completed', 'points.changed', 'streak.started'];
    const made = await laurel.admin.post('/v1/webhooks', [{ name: 'traced', url: `${hook.url}secret-path`, events }]);
    expect(made.body.issues).toEqual([]);
    await laurel.admin.post(`/v1/webhooks/${made.body.created[0].id}/test`, { type: 'points.changed' });
    const failed = await until(() => spans.named('webhook_delivery').find(({ status }) => status === ERROR));
    expect(failed).toMatchObject({ kind: SPAN_KIND.client, status: ERROR, parentSpanId: '' });
    expect(failed.attributes).toMatchObject({
      'http.request.resend_count': 0,
      'http.response.status_code': 503,
      'error.type': 'answered',
      'server.address': '127.0.0.1',
    });
    expect(hook.received[0]!.headers['traceparent']).toBe(`00-${failed.traceId}-${failed.spanId}-01`);
    expect(JSON.stringify(spans.named('webhook_delivery'))).not.toContain('secret-path');
  });

  test('scheduled work has a span by its kind', async () => {
    const { now } = (await laurel.admin.get('/v1/clock')).body as { now: string };
    const tomorrow = new Date(Date.parse(now) + 86_400_000).toISOString();
    expect((await laurel.admin.put('/v1/clock', { now: tomorrow })).status).toBe(200);
    const work = await until(() =>
      spans.named('scheduled_work').find(({ attributes }) => attributes['laurel.kind'] === 'midnights of streaks'),
    );
    expect(work).toMatchObject({ parentSpanId: '', kind: SPAN_KIND.internal });
  });

  test('no span identifies users', () => {
    expect(spans.receiver.received.map(({ body }) => body).join()).not.toContain('traced-1');
  });

  test('sends the last spans before the processes end', async () => {
    const trace = TRACE.replace('0af', '1af');
    await sendEvent(laurel, { traceparent: `00-${trace}-${PARENT}-01` });
    expect(await laurel.end()).toBe(0);
    const last = spans.spans.filter(({ traceId }) => traceId === trace);
    expect(last.map(({ name }) => name).toSorted()).toEqual(['commit', 'metrics_event']);
  });
});

describe('an installation that samples nothing of its own', () => {
  let spans: SpanReceiver;
  let laurel: Installation | undefined;
  afterEach(async () => {
    await laurel?.close();
    await spans.close();
  });

  test('makes only the spans of requests whose callers are sampled', async () => {
    spans = await SpanReceiver.start();
    laurel = await Installation.start({
      OTEL_EXPORTER_OTLP_ENDPOINT: spans.endpoint,
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0',
    });
    for (const headers of [{}, { traceparent: `00-${TRACE}-${PARENT}-00` }, { traceparent: 'nonsense' }])
      for (let sent = 0; sent < 20; sent += 1) await sendEvent(laurel, headers as Record<string, string>);
    await sendEvent(laurel, { traceparent: `00-${TRACE}-${PARENT}-01` });
    expect(await laurel.end()).toBe(0);
    expect(spans.spans.map(({ name }) => name).toSorted()).toEqual(['commit', 'metrics_event']);
  });

  test('answers as usual, and ends, while the receiver of the spans hangs', async () => {
    spans = await SpanReceiver.start(() => hang);
    laurel = await Installation.start({ OTEL_EXPORTER_OTLP_ENDPOINT: spans.endpoint });
    // More than may wait.
    for (let round = 0; round < 40; round += 1) await Promise.all(Array.from({ length: 50 }, () => sendEvent(laurel!)));
    await expect.poll(() => spans.receiver.received.length).toBeGreaterThan(0);
    expect(await laurel.end()).toBe(0);
  });
});
