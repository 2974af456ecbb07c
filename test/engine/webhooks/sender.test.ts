import { createHmac, randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { v7 as uuid } from 'uuid';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createSender, type Sender, type SenderOptions, type Target } from '../../../src/engine/webhooks/sender.ts';
import { dripBody, dripHead, hang, Receiver, reset } from './receiver.ts';
import { opened } from '../../stack/opened.ts';

const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;
const secret = newSecret();
const message = { id: uuid(), sequence: 17, payload: '{"type":"points.changed","name":"Zoë"}', tries: 0 };

let senders: Sender[];
const receiver = opened(() => Receiver.start());
beforeEach(() => {
  senders = [];
  receiver.received.length = 0;
  receiver.plan = () => 200;
});
afterEach(async () => void (await Promise.all(senders.map((sender) => sender.close()))));

function sender(options: Partial<SenderOptions> = {}): Sender {
  const made = createSender({ timeoutMs: 10_000, allowPrivate: true, ...options });
  senders.push(made);
  return made;
}

const target = (fields: Partial<Target> = {}): Target => ({
  url: `${receiver.url}hook?a=1`,
  secrets: [secret],
  ...fields,
});
const whole = (key: string): string => createHmac('sha256', key).update(message.payload).digest('base64');

describe('the request', () => {
  test('has the exact body, signed in both ways, with an ID, a time and a sequence', async () => {
    expect(await sender().send(target(), message)).toMatchObject({ outcome: 'delivered', status: 200, error: null });
    const [{ path, headers, body }] = receiver.received as [(typeof receiver.received)[0]];
    expect([path, body]).toEqual(['/hook?a=1', message.payload]);
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': expect.stringMatching(/^Laurel\/\d+\.\d+\.\d+/) as string,
      'webhook-id': message.id,
      'webhook-sequence': '17',
      'x-laurel-signature': whole(secret),
    });
    expect(headers).not.toHaveProperty('x-laurel-signature-previous');
    const standard = new Webhook(secret);
    expect(standard.verify(body, headers as Record<string, string>)).toEqual(JSON.parse(message.payload));
    expect(() => standard.verify(`${body} `, headers as Record<string, string>)).toThrow('No matching signature');
  });

  test('has the configured header, and after a rotation both signatures', async () => {
    const secrets = [newSecret(), secret];
    await sender().send(target({ header: 'X-Sig', secrets }), message);
    const { headers, body } = receiver.received[0]!;
    expect(headers).toMatchObject({ 'x-sig': whole(secrets[0]!), 'x-sig-previous': whole(secret) });
    expect(headers).not.toHaveProperty('x-laurel-signature');
    for (const one of secrets) new Webhook(one).verify(body, headers as Record<string, string>);
  });
});

describe('the end of a try', () => {
  test.each([
    [201, 'delivered', null],
    [301, 'redirected', 'answered 301: redirects are not followed'],
    [400, 'answered', 'answered 400'],
    [410, 'gone', 'answered 410'],
    [500, 'answered', 'answered 500'],
  ])('answered %i: %s', async (status, outcome, error) => {
    receiver.plan = () => (_request, response) =>
      void response.writeHead(status, { location: receiver.url }).end('what happened');
    const tried = await sender().send(target(), message);
    expect(tried).toMatchObject({ outcome, status, error, answer: 'what happened', retryAfterMs: null });
    expect(receiver.received).toHaveLength(1);
  });

  test('a receiver that hangs, breaks the connection, drips or is absent', async () => {
    const impatient = sender({ timeoutMs: 1_000 });
    receiver.plan = () => hang;
    const late = { outcome: 'timed_out', status: null, error: 'no answer within 1 s', answer: null };
    expect(await impatient.send(target(), message)).toMatchObject(late);
    receiver.plan = () => dripHead;
    expect(await impatient.send(target(), message)).toMatchObject(late);
    receiver.plan = () => reset;
    expect(await sender().send(target(), message)).toMatchObject({
      outcome: 'unreachable',
      error: 'the connection broke before an answer came',
    });
    const gone = await Receiver.start();
    await gone.close();
    expect(await sender().send(target({ url: gone.url }), message)).toMatchObject({
      outcome: 'unreachable',
      error: 'the connection was refused',
    });
  });

  test('skips interim answers, but not without end', async () => {
    const hints = 'HTTP/1.1 103 Early Hints\r\n\r\n';
    receiver.plan = () => (_request, response) => {
      response.socket!.write(hints.repeat(3));
      response.end('well');
    };
    expect(await sender().send(target(), message)).toMatchObject({ outcome: 'delivered', status: 200, answer: 'well' });
    let closed = false;
    receiver.plan = () => (_request, response) => {
      const socket = response.socket!;
      socket.once('close', () => (closed = true));
      const more = (): void => void (socket.writable && socket.write(hints.repeat(100), () => setImmediate(more)));
      more();
    };
    expect(await sender({ timeoutMs: 20_000 }).send(target(), message)).toMatchObject({
      outcome: 'unreachable',
      status: null,
      error: 'too many interim answers (1xx) came',
    });
    await expect.poll(() => closed).toBe(true);
  });

  test('an answer whose body never ends counts by its status, and ends with the time-out', async () => {
    // Long enough for the head of an answer, even on a busy machine.
    const impatient = sender({ timeoutMs: 6_000 });
    receiver.plan = ({ path }) => dripBody(Number(path.slice(1)));
    const send = (status: number) => impatient.send(target({ url: `${receiver.url}${status}` }), message);
    expect(await Promise.all([send(205), send(500)])).toMatchObject([
      { outcome: 'delivered', status: 205 },
      { outcome: 'answered', status: 500 },
    ]);
  });

  test('keeps the first 4 KiB of an answer, as text that can be stored', async () => {
    receiver.plan = () => (_request, response) => void response.end(Buffer.alloc(10_000_000, 'x'));
    expect((await sender().send(target(), message)).answer).toBe('x'.repeat(4_096));
    receiver.plan = () => (_request, response) => void response.end(Buffer.from([0x61, 0, 0xff, 0xfe, 0x62]));
    expect((await sender().send(target(), message)).answer).toBe('a\uFFFD\uFFFD\uFFFDb');
  });

  test.each([
    ['seconds', '120', 120_000],
    ['unreadable content', 'soon', null],
  ])('Retry-After: %s', async (_what, header, retryAfterMs) => {
    receiver.plan = () => (_request, response) => void response.writeHead(429, { 'retry-after': header }).end();
    expect(await sender().send(target(), message)).toMatchObject({ status: 429, retryAfterMs });
  });

  test('a cancelled try rejects, and one that was cancelled before sends nothing', async () => {
    const calledOff = new AbortController();
    receiver.plan = () => () => calledOff.abort();
    await expect(sender().send(target(), message, calledOff.signal)).rejects.toThrow('aborted');
    await expect(sender().send(target(), message, calledOff.signal)).rejects.toThrow('aborted');
    expect(receiver.received).toHaveLength(1);
  });
});

describe('addresses that are not public', () => {
  const port = (): string => new URL(receiver.url).port;
  const refused = { outcome: 'refused', status: null };

  test.each([
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '10.0.0.1',
    '169.254.169.254',
    'localhost',
  ])('sends nothing to http://%s/', async (host) => {
    const strict = sender({ allowPrivate: false, resolve: async () => ['127.0.0.1'] });
    expect(await strict.send(target({ url: `http://${host}:${port()}/` }), message)).toMatchObject(refused);
    expect(receiver.received).toEqual([]);
  });

  test('nor to a name of such an address, even if the name had another address before', async () => {
    // Is public at the first lookup and not at the second.
    const answers = [['127.0.0.1'], ['::1', '10.1.2.3'], ['::ffff:127.0.0.1']];
    const strict = sender({ allowPrivate: false, resolve: async () => answers.shift()! });
    for (let n = 0; n < 3; n += 1) {
      const tried = await strict.send(target({ url: `http://hook.example:${port()}/` }), message);
      expect(tried).toMatchObject({ ...refused, error: expect.stringContaining('not public') as string });
    }
    expect(answers).toEqual([]);
    expect(receiver.received).toEqual([]);
  });

  test('if they are allowed, looks up a name once and connects to the result', async () => {
    let asked = 0;
    const resolve = async (): Promise<string[]> => ((asked += 1), ['127.0.0.1']);
    const tried = await sender({ resolve }).send(target({ url: `http://hook.example:${port()}/` }), message);
    expect(tried.outcome).toBe('delivered');
    expect(asked).toBe(1);
    expect(receiver.received[0]?.headers['host']).toBe(`hook.example:${port()}`);
  });
});
