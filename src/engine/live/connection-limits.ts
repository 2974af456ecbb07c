import { AppError } from '../../errors.ts';
import { holderOf, type LiveGrant } from './grants.ts';

/** How many streams a process carries at most. */
export interface LiveLimits {
  connections: number;
  perTenant: number;
  /** Of one admin key; of one user, with all application keys that the user has. */
  perKey: number;
}

/** Counts the streams of a process by tenant and holder (`holderOf`). Several processes together carry that many more. */
export class ConnectionLimits {
  private readonly limits: LiveLimits;
  private all = 0;
  private readonly ofTenants = new Map<number, number>();
  private readonly ofHolders = new Map<string, number>();

  constructor(limits: LiveLimits) {
    this.limits = limits;
  }

  /** How many there are. */
  get count(): number {
    return this.all;
  }

  /** Counts one more; the returned function ends that, once. Throws 503 where this process is full, 429 where tenant or holder is. */
  admit(grant: LiveGrant): () => void {
    const { tenantNo, kind } = grant;
    const holder = holderOf(grant);
    const { connections, perTenant, perKey } = this.limits;
    const ofTenant = this.ofTenants.get(tenantNo) ?? 0;
    const ofHolder = this.ofHolders.get(holder) ?? 0;
    if (this.all >= connections)
      throw new AppError('unavailable', 'This server carries as many live streams as it may; try again in a moment.');
    if (ofHolder >= perKey)
      throw tooMany(`The ${kind === 'admin' ? 'API key' : 'user'} has ${perKey} live streams already`);
    if (ofTenant >= perTenant) throw tooMany(`The tenant has ${perTenant} live streams already`);
    this.all += 1;
    this.ofTenants.set(tenantNo, ofTenant + 1);
    this.ofHolders.set(holder, ofHolder + 1);
    let counted = true;
    return () => {
      if (!counted) return;
      counted = false;
      this.all -= 1;
      less(this.ofTenants, tenantNo);
      less(this.ofHolders, holder);
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
