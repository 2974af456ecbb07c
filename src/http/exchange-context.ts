import type { Network } from '../domain/networks.ts';
import type { LogThrottle } from '../log/log-throttle.ts';
import type { Log } from '../log/log.ts';
import type { Caller, Operation } from '../operations/operation.ts';
import type { Services } from '../operations/services.ts';
import type { Traces } from '../traces/traces.ts';
import type { FailedKeys } from './failed-keys.ts';
import type { KeyRefusal } from './key-refusal.ts';
import type { FileLimit, RateLimit } from './rate-limit.ts';
import type { RequestMetrics } from './request-metrics.ts';
import type { SessionAuthenticator } from './session-auth.ts';
import type { BoardValues } from './strict-client.ts';
import type { ResolveTenant } from './tenancy.ts';

/** What all exchanges of a server share. */
export interface ExchangeContext {
  surface: Operation['surface'];
  services: Services;
  authenticate: (header: string | null) => Caller | Promise<Caller>;
  /** The sessions that stand for keys here; null: none do. */
  sessions: SessionAuthenticator | null;
  resolveTenant: ResolveTenant;
  /** Whether a tenant's live state can be read and changed now, null: that of any tenant; else 503. */
  isReady: (tenantNo: number | null) => boolean;
  rateLimit: RateLimit | undefined;
  /** Undefined: any number of requests for files. */
  fileLimit: FileLimit | undefined;
  /** Counts wrong keys; undefined: nothing is limited. */
  failedKeys: FailedKeys | undefined;
  /** Proxies whose `X-Forwarded-For` is believed. */
  trustedProxies: readonly Network[];
  /** To whom values of boards are whole numbers. */
  boardValues: () => BoardValues;
  log: Log;
  /** Makes the spans of sampled requests; null: none are made. */
  traces: Traces | null;
  requests: RequestMetrics;
  /** Called for every key that is refused. */
  onRefused?: ((refusal: KeyRefusal, address: string | null) => void) | undefined;
  /** By operation: that something is away. */
  logThrottle: LogThrottle;
  draining: boolean;
  /** Headers that let pages of other origins read every response; null where they may not. */
  cors: Readonly<Record<string, string>> | null;
  /** Exchanges begun and not ended: their handlers may still use the services. */
  begun(): void;
  ended(): void;
}
