/** How many connections a port of a process has, so that clients who open many take neither the process nor other clients' connections. */
import { existsSync, readFileSync } from 'node:fs';
import type { Network } from '../../domain/networks.ts';
import type { Operation } from '../../operations/operation.ts';
import { type Log, LogThrottle } from '../../telemetry/log.ts';
import { peerNetwork } from '../client-address.ts';
import type { HttpResponse } from '../uws.ts';
import { createNetworkLimit, type NetworkLimit } from './rate-limit.ts';

const LIMITS = '/proc/self/limits';
/** Files that a process keeps for itself: connections to Redis and Postgres, pages, the listeners. */
const OWN_FILES = 256;
/** More would need too much memory: an idle one takes about 0.7 KB of the process and 4 KB of the kernel. */
const MOST_OF_PROCESS = 50_000;
const SHARE = { application: 0.8, admin: 0.2 };
/** Share of its connections from which a port is crowded. */
const CROWDED = 0.75;
/** Share of its connections that a crowded port accepts from one network in a second. */
const NETWORK_SHARE = 0.01;
/** Log interval while connections are refused. */
const REPEAT_MS = 60_000;

/** The number of files that this process may open; `null` if it is unlimited, or the system (not Linux) does not say. */
export function mostOpenFiles(): number | null {
  // `process.report` has it too, but looks up the names of all peers.
  if (!existsSync(LIMITS)) return null;
  const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync(LIMITS, 'latin1')) ?? [];
  return soft === undefined ? null : Number(soft);
}

/**
 * The connections of each port, given the number of files that the process may open. A process without a free file could reach
 * neither Redis nor Postgres, and uWS would try to accept waiting connections all the time.
 */
export function mostConnections(openFiles: number | null): Record<keyof typeof SHARE, number> {
  const all = Math.min(MOST_OF_PROCESS, openFiles === null ? Infinity : openFiles - Math.min(OWN_FILES, openFiles / 2));
  return { application: Math.floor(all * SHARE.application), admin: Math.floor(all * SHARE.admin) };
}

interface ConnectionLimitOptions {
  surface: Operation['surface'];
  most: number;
  /** Proxies, whose connections are those of many clients. */
  trusted: readonly Network[];
  log: Log;
}

/** The open connections of a port. */
export class ConnectionLimit {
  private readonly options: ConnectionLimitOptions;
  private readonly ofNetwork: NetworkLimit;
  private readonly throttle = new LogThrottle(REPEAT_MS);
  private open = 0;
  /** Connections that were closed at once since the start. */
  refused = 0;

  constructor(options: ConnectionLimitOptions) {
    this.options = options;
    this.ofNetwork = createNetworkLimit(options.most * NETWORK_SHARE);
  }

  get count(): number {
    return this.open;
  }

  get most(): number {
    return this.options.most;
  }

  /**
   * Whether few connections are left. Then answers close theirs, so that clients who keep them open without need lose them. uWS closes
   * idle ones after 10 s.
   */
  get isCrowded(): boolean {
    return this.open > this.most * CROWDED;
  }

  /** Counts a new connection. Returns whether it may stay; if not, the caller closes it, which ends here, too. */
  opened(res: HttpResponse): boolean {
    const { surface, trusted, log } = this.options;
    this.open += 1;
    if (!this.isCrowded) return true;
    if (this.open <= this.most && this.ofNetwork(peerNetwork(res, trusted)) === null) return true;
    this.refused += 1;
    this.throttle.log('', (suppressed) =>
      log.warn({ surface, suppressed }, 'connections are refused: there are too many'),
    );
    return false;
  }

  closed(): void {
    this.open -= 1;
  }
}
