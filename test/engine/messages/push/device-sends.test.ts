import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { providerOf } from '../../../../src/domain/notifications/device-tokens.ts';
import {
  type OpenProvider,
  ProviderLane,
  resultOf,
  sendToDevices,
} from '../../../../src/engine/messages/push/device-sends.ts';
import type { PushOutcome, PushResult } from '../../../../src/engine/messages/push/push-sender.ts';

const result = (outcome: PushOutcome, more: Partial<PushResult> = {}): PushResult => ({
  outcome,
  reason: outcome === 'sent' ? null : `${outcome}!`,
  concernsServer: false,
  retryAfterMs: null,
  ...more,
});
const push = { id: 'a', title: 'T', body: 'B', url: null, ttlSeconds: 60, collapseKey: null };
const never = new AbortController().signal;

test.each([
  ['ExponentPushToken[abc]', 'expo'],
  ['ExpoPushToken[abc]', 'expo'],
  ['{"endpoint":"https://push.example"}', 'web_push'],
  ['  {"endpoint":"https://push.example"}', 'web_push'],
  ['a1'.repeat(32), 'apns'],
  ['A1'.repeat(80), 'apns'],
  [`${'a1'.repeat(32)}1`, 'fcm'],
  ['a1'.repeat(31), 'fcm'],
  ['cXy:APA91bH', 'fcm'],
  ['', 'fcm'],
])('the token %s belongs to %s', (token, provider) => {
  expect(providerOf(token)).toBe(provider);
});

test.each([
  [['sent'], 'sent', null, []],
  [['later', 'sent', 'token_gone'], 'sent', '1 of 3 devices; another: later!', ['t2']],
  [['unknown', 'later', 'refused'], 'unknown', 'unknown!', []],
  [['refused', 'later'], 'later', 'later!', []],
  [['refused', 'token_gone'], 'refused', 'refused!', ['t1']],
  [['token_gone', 'token_gone'], 'refused', 'token_gone!', ['t0', 't1']],
] as [PushOutcome[], string, string | null, string[]][])('%j is %s', (outcomes, outcome, reason, gone) => {
  const devices = outcomes.map((each, n) => ({ token: `t${n}`, ...result(each) }));
  expect(resultOf(devices)).toMatchObject({ outcome, reason, gone });
});

test('a retry waits as long as the most patient provider asks', () => {
  const devices = [
    { token: 'a', ...result('later', { retryAfterMs: 5_000 }) },
    { token: 'b', ...result('later', { retryAfterMs: 9_000 }) },
  ];
  expect(resultOf(devices).retryAfterMs).toBe(9_000);
});

describe('the providers of a user', () => {
  const provider = (answer: () => PushResult, pace = 500): OpenProvider & { sent: number } => {
    const open = {
      sent: 0,
      lane: new ProviderLane({ provider: 'fcm', pace, firstPauseMs: 60_000 }),
      sender: {
        send: async () => {
          open.sent += 1;
          return answer();
        },
        cutOff: () => undefined,
        close: () => undefined,
      },
    };
    return open;
  };

  test('have a breaker each: one that fails ten times is left alone, and the other still gets its devices', async () => {
    const broken = provider(() => result('later', { concernsServer: true }));
    const works = provider(() => result('sent'));
    const providers = new Map([
      ['expo', broken],
      ['fcm', works],
    ] as const);
    const tokens = ['ExpoPushToken[a]', 'fcm-token', 'a1'.repeat(32)];
    for (let n = 0; n < 12; n += 1)
      expect((await sendToDevices(providers, { tokens, push }, never)).outcome).toBe('sent');
    expect([broken.sent, works.sent]).toEqual([10, 12]);
    expect(broken.lane.health.openUntilMs(performance.now())).not.toBeNull();
    expect(await sendToDevices(providers, { tokens: ['ExpoPushToken[a]'], push }, never)).toMatchObject({
      outcome: 'later',
      reason: 'the provider failed too often',
    });
  });

  test('keep to their pace over the devices of all messages, and begin nothing once the process ends', async () => {
    const slow = provider(() => result('sent'), 10);
    const providers = new Map([['fcm', slow]] as const);
    const beganMs = performance.now();
    const both = [1, 2].map((n) => sendToDevices(providers, { tokens: [`a${n}`, `b${n}`], push }, never));
    await Promise.all(both);
    // The fourth device waits for three intervals.
    expect(performance.now() - beganMs).toBeGreaterThan(280);
    // No time passes since the fourth, so the next one has to wait.
    const now = vi.spyOn(performance, 'now').mockReturnValue(beganMs + 300);
    onTestFinished(() => now.mockRestore());
    const ending = new AbortController();
    const waiting = sendToDevices(providers, { tokens: ['a', 'b'], push }, ending.signal);
    ending.abort();
    expect(await waiting).toMatchObject({ outcome: 'later', reason: 'the process ended' });
    expect(slow.sent).toBe(4);
  });
});
