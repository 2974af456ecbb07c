/** Sending a push notification to all devices of a user: by provider, paced, with a breaker for each provider. */
import { setTimeout as sleep } from 'node:timers/promises';
import { providerOf, type PushProvider } from '../../../domain/notifications/device-tokens.ts';
import { WebhookHealth } from '../../webhooks/endpoint.ts';
import type { PushMessage, PushResult, PushSender } from './push-sender.ts';

/** A push notification and the devices that get it. */
export interface PushDelivery {
  tokens: readonly string[];
  push: PushMessage;
}

/** How the attempt at all devices ended. */
export interface DeliveryResult {
  outcome: 'sent' | 'later' | 'refused' | 'unknown';
  /** `null` if all devices got it. */
  reason: string | null;
  retryAfterMs: number | null;
  /** The breakers of providers decide, not one for all. */
  concernsServer: false;
  /** Tokens that providers no longer know. */
  gone: string[];
}

/** Attempts at a time that a working provider gets. The queue limits them by its own. */
const MOST_AT_A_TIME = 1_000;

/** A provider as a tenant uses it: its pace and its breaker. Times are of `performance.now()`. */
export class ProviderLane {
  readonly health: WebhookHealth;
  private readonly spacingMs: number;
  private nextMs = 0;

  /** @param firstPauseMs how long the breaker is open for the first time */
  constructor(perSecond: number, firstPauseMs: number) {
    this.spacingMs = 1_000 / perSecond;
    this.health = new WebhookHealth({ failures: 0, failingSinceMs: null, firstPauseMs });
  }

  /** Tries once, at the lane's pace. Never rejects. `ending`: no attempt begins after it. */
  async send(sender: PushSender, { token, push }: { token: string; push: PushMessage }, ending: AbortSignal) {
    const nowMs = performance.now();
    const openUntilMs = this.health.openUntilMs(nowMs);
    if (openUntilMs !== null) return notNow('the provider failed too often', openUntilMs - nowMs);
    const atMs = Math.max(nowMs, this.nextMs);
    this.nextMs = atMs + this.spacingMs;
    if (atMs > nowMs) await sleep(atMs - nowMs, undefined, { signal: ending }).catch(() => undefined);
    if (ending.aborted) return notNow('the process ended', 0);
    const beganMs = performance.now();
    const result = await sender.send(token, push);
    const endedMs = performance.now();
    if (result.concernsServer) this.health.failedTry({ beganMs, endedMs, nowMs: endedMs });
    else this.health.succeeded(MOST_AT_A_TIME);
    return result;
  }
}

const notNow = (reason: string, retryAfterMs: number): PushResult => ({
  outcome: 'later',
  reason,
  concernsServer: false,
  retryAfterMs,
});

/** A tenant's provider: its lane, and the sender of its channel. */
export interface OpenProvider {
  lane: ProviderLane;
  sender: PushSender;
}

/** Sends to all devices whose provider is open. There must be one. Never rejects. */
export async function sendToDevices(
  providers: ReadonlyMap<PushProvider, OpenProvider>,
  { tokens, push }: PushDelivery,
  ending: AbortSignal,
): Promise<DeliveryResult> {
  const attempts = tokens.flatMap((token) => {
    const open = providers.get(providerOf(token));
    return open === undefined ? [] : [{ token, result: open.lane.send(open.sender, { token, push }, ending) }];
  });
  const ended = await Promise.all(attempts.map(async ({ token, result }) => ({ token, ...(await result) })));
  return resultOf(ended);
}

/**
 * The result of a whole attempt. Once a device got the notification, or may have got it, the notification is never sent again, because
 * that device would get it twice. It is retried only if no device got it and one may yet.
 */
export function resultOf(devices: readonly (PushResult & { token: string })[]): DeliveryResult {
  const gone = devices.flatMap(({ token, outcome }) => (outcome === 'token_gone' ? [token] : []));
  const common = { concernsServer: false as const, gone, retryAfterMs: null };
  const sent = devices.filter(({ outcome }) => outcome === 'sent').length;
  const [failed] = devices.filter(({ outcome }) => outcome !== 'sent');
  if (failed === undefined) return { ...common, outcome: 'sent', reason: null };
  if (sent > 0)
    return { ...common, outcome: 'sent', reason: `${sent} of ${devices.length} devices; another: ${failed.reason}` };
  const unknown = devices.find(({ outcome }) => outcome === 'unknown');
  if (unknown !== undefined) return { ...common, outcome: 'unknown', reason: unknown.reason };
  const waiting = devices.filter(({ outcome }) => outcome === 'later');
  if (waiting.length === 0) return { ...common, outcome: 'refused', reason: failed.reason };
  const retryAfterMs = Math.max(...waiting.map((one) => one.retryAfterMs ?? 0));
  return { ...common, outcome: 'later', reason: waiting[0]!.reason, retryAfterMs };
}
