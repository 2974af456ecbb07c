import type { Redis } from 'ioredis';
import { systemClock } from '../clock.ts';
import { recentRequestsKey } from './keys.ts';

/** A request that was answered. Bodies, queries and secrets are not kept. */
export interface RecentRequest {
  /** When it was answered, epoch ms. */
  atMs: number;
  surface: 'admin' | 'application';
  method: string;
  path: string;
  status: number;
  durationMs: number;
  /** Readable part of the API key. */
  prefix: string;
  /** Of a refused request: the code and the reason in its answer. */
  code?: string;
  error?: string;
}

const KEPT_MS = 3_600_000;
/** Requests of a tenant that are kept at most: of the only tenant, and of each of several. Some 200 bytes each. */
const MOST_KEPT = { only: 1_000, each: 100 };
/** Requests that a process notes in a second, in all and of one key. It skips the others, so a busy key cannot displace the rest. */
const MOST_NOTED = { inAll: 50, ofKey: 20 };
const WRITE_MS = 1_000;
const FIELD = 'r';

/**
 * The requests that were answered last, by tenant, for people who look for a fault. Each process writes what it noted once a second,
 * in one pipeline. Losing them loses nothing else: a write that fails is not repeated.
 */
export class RecentRequests {
  private readonly redis: Redis;
  private readonly hasTenants: () => boolean;
  private noted: (RecentRequest & { tenantNo: number })[] = [];
  private readonly notedOfKeys = new Map<string, number>();
  private timer: NodeJS.Timeout | null = null;

  constructor(redis: Redis, hasTenants: () => boolean) {
    this.redis = redis;
    this.hasTenants = hasTenants;
  }

  /** Whether another request of a key would be noted now. */
  hasRoomFor(prefix: string): boolean {
    return this.noted.length < MOST_NOTED.inAll && (this.notedOfKeys.get(prefix) ?? 0) < MOST_NOTED.ofKey;
  }

  /** Notes a request, if there is room for another one of its key. */
  note(tenantNo: number, request: RecentRequest): void {
    const { prefix } = request;
    if (!this.hasRoomFor(prefix)) return;
    this.noted.push({ tenantNo, ...request });
    this.notedOfKeys.set(prefix, (this.notedOfKeys.get(prefix) ?? 0) + 1);
    this.timer ??= setTimeout(this.write, WRITE_MS);
  }

  async read(tenantNo: number, { limit, nowMs }: { limit: number; nowMs: number }): Promise<RecentRequest[]> {
    const entries = await this.redis.xrevrange(
      recentRequestsKey(tenantNo),
      '+',
      String(nowMs - KEPT_MS),
      'COUNT',
      limit,
    );
    return entries.map(([, [, json]]) => JSON.parse(json!) as RecentRequest);
  }

  close(): void {
    if (this.timer !== null) clearTimeout(this.timer);
  }

  private readonly write = (): void => {
    this.timer = null;
    const noted = this.noted;
    this.noted = [];
    this.notedOfKeys.clear();
    const most = this.hasTenants() ? MOST_KEPT.each : MOST_KEPT.only;
    const oldest = String(systemClock.now() - KEPT_MS);
    const pipeline = this.redis.pipeline();
    for (const { tenantNo, ...request } of noted)
      pipeline.xadd(recentRequestsKey(tenantNo), 'MAXLEN', '=', most, '*', FIELD, JSON.stringify(request));
    for (const tenantNo of new Set(noted.map((request) => request.tenantNo))) {
      pipeline.xtrim(recentRequestsKey(tenantNo), 'MINID', '=', oldest);
      pipeline.pexpire(recentRequestsKey(tenantNo), KEPT_MS);
    }
    pipeline.exec().catch(() => undefined);
  };
}
