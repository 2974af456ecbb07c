import { delayMs } from '../../../pacing/backoff.ts';

/** An attempt at a server of Web Push. Times are of `performance.now()`. */
export interface HostAttempt {
  /** Its domain. */
  host: string;
  /** ID of the push notification, which has one user. */
  messageId: string;
  beganMs: number;
}

/** Why no attempt begins now. */
export interface NoPlace {
  reason: string;
  /** When to ask again; `null` for the usual delay. */
  retryAfterMs: number | null;
}

interface Host {
  /** Most attempts at a time. More than `FIRST` only if the server answered quickly lately. */
  limit: number;
  /** Attempts without an answer in a row. */
  timeouts: number;
  skippedUntilMs: number;
}

/** An attempt that takes longer is slow. */
export const SLOW_MS = 1_000;
/** Attempts at a time at a server that did not answer quickly yet, or is slow, and at one that does. */
const FIRST = 4;
const MOST = 32;
/** Attempts at a time at all such servers together, and of one user. */
const DOUBTFUL = 16;
const DOUBTFUL_OF_USER = 2;
/** Further ones, for servers with none running of which nothing bad is known. */
const FIRST_TRIES = 8;
/** So many timeouts in a row, and a server is skipped, at first for a minute. */
const TIMEOUTS = 3;
const SKIPPED = { firstMs: 60_000, lastMs: 15 * 60_000 };
/** Servers that are remembered. */
const MOST_HOSTS = 1_000;

/**
 * The domain that stands for a server: the last two labels of its name, so that names below one domain share what is known, or its whole
 * address.
 */
export const domainOf = ({ hostname }: URL): string =>
  /^\[|^[\d.]+$/.test(hostname) ? hostname : hostname.split('.').slice(-2).join('.');

/**
 * Divides a channel's attempts among the servers of Web Push. End users choose these servers, so a server has to earn its attempts:
 * each quick answer allows one more at a time. Servers that are slow or not known yet share a few, so they cannot take the places of
 * the others, however many names they have. A server that times out repeatedly is skipped for a while.
 */
export class EndpointHosts {
  private readonly hosts = new Map<string, Host>();
  private readonly running = new Set<HostAttempt>();
  private readonly waiting = new Set<() => void>();

  /** For how long a server is skipped (ms); `null` if it is not. */
  skippedMs(host: string): number | null {
    const leftMs = (this.hosts.get(host)?.skippedUntilMs ?? 0) - performance.now();
    return leftMs > 0 ? leftMs : null;
  }

  /** Waits for a place, for about a second at most if the server is not known to be quick. Call `leave` after the attempt. */
  async enter(host: string, messageId: string): Promise<HostAttempt | NoPlace> {
    const deadlineMs = performance.now() + SLOW_MS;
    for (;;) {
      const skippedMs = this.skippedMs(host);
      if (skippedMs !== null) return { reason: `${host} did not answer repeatedly`, retryAfterMs: skippedMs };
      const nowMs = performance.now();
      const ahead = this.ahead(host, messageId, nowMs);
      if (ahead.length === 0) return this.begin(host, messageId, nowMs);
      const slow = ahead.filter(({ beganMs }) => nowMs - beganMs >= SLOW_MS).length;
      const isOver = this.isQuick(host, nowMs)
        ? slow === ahead.length
        : slow >= ahead.length / 2 || nowMs >= deadlineMs;
      if (isOver) return { reason: `${host} or other servers are slow`, retryAfterMs: null };
      // The youngest attempt is slow by then at the latest.
      await this.ended(Math.max(...ahead.map(({ beganMs }) => beganMs)) + SLOW_MS - nowMs);
    }
  }

  /** Notes the end of an attempt. `isAnswered`: whether the server answered anything. */
  leave(attempt: HostAttempt, isAnswered: boolean): void {
    this.running.delete(attempt);
    const host = this.hostOf(attempt.host);
    const nowMs = performance.now();
    const isSlow = nowMs - attempt.beganMs >= SLOW_MS;
    if (isSlow) host.limit = FIRST;
    else if (isAnswered) host.limit = Math.min(MOST, host.limit + 1);
    if (isAnswered) host.timeouts = 0;
    else if (isSlow) {
      host.timeouts += 1;
      if (host.timeouts >= TIMEOUTS) host.skippedUntilMs = nowMs + delayMs(SKIPPED, host.timeouts - TIMEOUTS + 1);
    }
    for (const wake of this.waiting) wake();
  }

  private begin(host: string, messageId: string, beganMs: number): HostAttempt {
    const attempt = { host, messageId, beganMs };
    this.running.add(attempt);
    return attempt;
  }

  /** The attempts of which one has to end before another one at a server may begin; none if it may now. */
  private ahead(host: string, messageId: string, nowMs: number): HostAttempt[] {
    const running = [...this.running];
    const atHost = running.filter((one) => one.host === host);
    const { limit, timeouts } = this.hostOf(host);
    if (atHost.length >= limit) return atHost;
    if (this.isQuick(host, nowMs)) return [];
    const doubtful = running.filter((one) => !this.isQuick(one.host, nowMs));
    const isFirst = atHost.length === 0 && timeouts === 0;
    if (doubtful.length >= DOUBTFUL + (isFirst ? FIRST_TRIES : 0)) return doubtful;
    const ofUser = doubtful.filter((one) => one.messageId === messageId);
    return ofUser.length >= DOUBTFUL_OF_USER ? ofUser : [];
  }

  /** Whether a server answered quickly lately, and does still. */
  private isQuick(host: string, nowMs: number): boolean {
    if (this.hostOf(host).limit <= FIRST) return false;
    let slow = 0;
    for (const one of this.running) if (one.host === host && nowMs - one.beganMs >= SLOW_MS) slow += 1;
    return slow < FIRST;
  }

  /** A server as far as it is known. */
  private hostOf(name: string): Host {
    const host = this.hosts.get(name) ?? { limit: FIRST, timeouts: 0, skippedUntilMs: 0 };
    // The one used last is at the end.
    this.hosts.delete(name);
    this.hosts.set(name, host);
    if (this.hosts.size > MOST_HOSTS) this.hosts.delete(this.hosts.keys().next().value!);
    return host;
  }

  /** Waits until an attempt ends, at most for a time. */
  private ended(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, Math.max(1, withinMs));
      this.waiting.add(wake);
    });
  }
}
