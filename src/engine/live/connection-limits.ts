import { AppError } from '../../errors.ts';
import type { LiveGrant } from './grants.ts';

/** How many streams a process carries at most. */
export interface LiveLimits {
  connections: number;
  perTenant: number;
  perKey: number;
}

/** Counts the streams of a process by tenant and key. Several processes together carry that many more. */
export class ConnectionLimits {
  private readonly limits: LiveLimits;
  private all = 0;
  private readonly ofTenants = new Map<number, number>();
  private readonly ofKeys = new Map<string, number>();

  constructor(limits: LiveLimits) {
    this.limits = limits;
  }

  /** How many there are. */
  get count(): number {
    return this.all;
  }

  /** Counts one more; the returned function ends that, once. Throws 503 where this process is full, 429 where tenant or key is. */
  admit({ tenantNo, prefix }: LiveGrant): () => void {
    const { connections, perTenant, perKey } = this.limits;
    const ofTenant = this.ofTenants.get(tenantNo) ?? 0;
    const ofKey = this.ofKeys.get(prefix) ?? 0;
    if (this.all >= connections)
      throw new AppError('unavailable', 'This server carries as many live streams as it may; try again in a moment.');
    if (ofKey >= perKey) throw tooMany(`The API key has ${perKey} live streams already`);
    if (ofTenant >= perTenant) throw tooMany(`The tenant has ${perTenant} live streams already`);
    this.all += 1;
    this.ofTenants.set(tenantNo, ofTenant + 1);
    this.ofKeys.set(prefix, ofKey + 1);
    let counted = true;
    return () => {
      if (!counted) return;
      counted = false;
      this.all -= 1;
      less(this.ofTenants, tenantNo);
      less(this.ofKeys, prefix);
    };
  }
}

const RETRY_S = '5';

const tooMany = (message: string): AppError =>
  new AppError('too_many_requests', `${message}; close one of them.`, { 'Retry-After': RETRY_S });

function less<K>(counts: Map<K, number>, key: K): void {
  const count = counts.get(key)! - 1;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
