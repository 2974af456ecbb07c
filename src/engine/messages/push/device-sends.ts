/** Sending a push notification to all devices of a user: by provider, paced, with a breaker for each provider. */
import { setTimeout as sleep } from 'node:timers/promises';
import { providerOf, type PushProvider } from '../../../domain/notifications/device-tokens.ts';
import { ServerHealth } from '../../webhooks/endpoint.ts';
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
  /** Devices whose provider says later what became of it. */
  tickets: { ticket: string; token: string }[];
  /** Number of devices that took it. */
  taken: number;
}

/** Push notifications of a tenant at a time, if the providers work. */
export const MOST_NOTIFICATIONS = 64;
/**
 * Attempts at a time at a provider that works. The pace is kept if it is less than this number divided by the time
 * of an attempt. APNs takes them over one connection; Expo asks for few connections.
 */
const MOST_AT_A_TIME: Readonly<Record<PushProvider, number>> = { apns: 64, fcm: 64, web_push: 64, expo: 16 };
/** At a provider that fails, or is only beginning. The servers of Web Push are limited each by itself. */
const LEAST_AT_A_TIME: Readonly<Record<PushProvider, number>> = { apns: 4, fcm: 4, web_push: 64, expo: 4 };
/** How early a notification may wait for a lane's pace, and how long notifications of all lanes wait for a place in one. */
const EARLY_MS = 20;
const PLACE_MS = 250;
const CONGESTED_MS = 1_000;

/** A provider as a tenant uses it: its pace and its breaker. Times are of `performance.now()`. */
export class ProviderLane {
  readonly health: ServerHealth;
  private readonly most: number;
  private readonly least: number;
  private readonly spacingMs: number;
  private nextMs = 0;
  private running = 0;
  private congestedUntilMs = 0;
  private onEnd: (() => void) | null = null;

  /** @param options.firstPauseMs how long the breaker is open for the first time */
  constructor({ provider, pace, firstPauseMs }: { provider: PushProvider; pace: number; firstPauseMs: number }) {
    this.most = MOST_AT_A_TIME[provider];
    this.least = LEAST_AT_A_TIME[provider];
    this.spacingMs = 1_000 / pace;
    this.health = new ServerHealth({ failures: 0, failingSinceMs: null, firstPauseMs });
  }

  /**
   * Waits until an attempt may begin soon. Returns false if the lane has no place for some time, because its provider is slow: other
   * lanes should not wait for it.
   */
  async hasPlace(ending: AbortSignal): Promise<boolean> {
    const waitMs = this.nextMs - performance.now() - EARLY_MS;
    if (waitMs > 0) await sleep(waitMs, undefined, { signal: ending }).catch(() => undefined);
    if (this.isFull && performance.now() >= this.congestedUntilMs) await this.ended();
    if (this.isFull && performance.now() >= this.congestedUntilMs)
      this.congestedUntilMs = performance.now() + CONGESTED_MS;
    return !this.isFull && !ending.aborted;
  }

  private get isFull(): boolean {
    return this.running >= Math.max(this.least, Math.min(this.most, this.health.concurrency));
  }

  /** Waits until an attempt ends, but not for long. */
  private ended(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, PLACE_MS);
      this.onEnd = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Tries once, at the lane's pace. Never rejects. `ending`: no attempt begins after it. */
  async send(sender: PushSender, token: string, push: PushMessage, ending: AbortSignal) {
    const nowMs = performance.now();
    const openUntilMs = this.health.openUntilMs(nowMs);
    if (openUntilMs !== null) return notNow('the provider failed too often', openUntilMs - nowMs);
    const pauseMs = sender.pauseMs?.(token) ?? null;
    if (pauseMs !== null) return notNow('the server of the device did not answer repeatedly', pauseMs);
    const atMs = Math.max(nowMs, this.nextMs);
    this.nextMs = atMs + this.spacingMs;
    this.running += 1;
    try {
      if (atMs > nowMs) await sleep(atMs - nowMs, undefined, { signal: ending }).catch(() => undefined);
      return ending.aborted ? notNow('the process ended', 0) : await this.attempt(sender.send(token, push));
    } finally {
      this.running -= 1;
      this.onEnd?.();
    }
  }

  private async attempt(sending: Promise<PushResult>): Promise<PushResult> {
    const beganMs = performance.now();
    const result = await sending;
    const endedMs = performance.now();
    if (result.concernsServer) this.health.failedTry({ beganMs, endedMs, nowMs: endedMs });
    else this.health.succeeded(this.most);
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
  /** Its credentials cannot be read or used, so that attempts fail. Messages to its devices alone wait. */
  isUnopened?: boolean;
}

/** Sends to all devices whose provider is open. There must be one. Never rejects. */
export async function sendToDevices(
  providers: ReadonlyMap<PushProvider, OpenProvider>,
  { tokens, push }: PushDelivery,
  ending: AbortSignal,
): Promise<DeliveryResult> {
  const attempts = tokens.flatMap((token) => {
    const open = providers.get(providerOf(token));
    return open === undefined ? [] : [{ token, result: open.lane.send(open.sender, token, push, ending) }];
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
  const sent = devices.filter(({ outcome }) => outcome === 'sent').length;
  const tickets = devices.flatMap(({ token, ticket }) => (ticket === undefined ? [] : [{ ticket, token }]));
  const common = { concernsServer: false as const, gone, tickets, taken: sent, retryAfterMs: null };
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
