import type { Network } from '../domain/networks.ts';
import type { Log, LogThrottle } from '../telemetry/log.ts';
import type { Caller, Operation } from '../operations/operation.ts';
import type { Services } from '../engine/services.ts';
import type { Traces } from '../telemetry/traces.ts';
import type { FailedKeys, KeyRefusal } from './access/key-refusal.ts';
import type { ConnectionLimit } from './access/connection-limit.ts';
import type { NetworkLimit, RateLimit } from './access/rate-limit.ts';
import type { Admission, From } from './access/admission.ts';
import type { Shares } from './access/shares.ts';
import type { RequestHead } from './request-head.ts';
import type { RequestMetrics } from './request-metrics.ts';
import type { SessionAuthenticator } from './access/session-auth.ts';
import type { BoardValues } from './adapted-answer.ts';
import type { ResolveTenant } from './access/tenancy.ts';

export interface ExchangeContext {
  surface: Operation['surface'];
  services: Services;
  authenticate: (header: string | null) => Caller | Promise<Caller>;
  /** Who seems to send a request, by its unchecked headers and the data in memory; `null` if unknown. */
  senderOf: (head: RequestHead) => From | null;
  /** Sessions accepted in place of keys; `null` for none. */
  sessions: SessionAuthenticator | null;
  resolveTenant: ResolveTenant;
  /** Whether a tenant's live state is available (`null`: any tenant's); otherwise 503. */
  isReady: (tenantNo: number | null) => boolean;
  rateLimit: RateLimit | undefined;
  /** What callers and tenants may use of this process's time. */
  shares: Shares;
  /** Refuses requests that would wait too long. */
  admission: Admission;
  /** `undefined` for no limit on requests for files. */
  fileLimit: NetworkLimit | undefined;
  /** Limits wrong keys; `undefined` for no limit. */
  failedKeys: FailedKeys | undefined;
  /** Proxies whose `X-Forwarded-For` is trusted. */
  trustedProxies: readonly Network[];
  /** Which clients get leaderboard values as whole numbers. */
  boardValues: () => BoardValues;
  log: Log;
  traces: Traces | null;
  requests: RequestMetrics;
  /** Called for every refused key. */
  onRefused?: ((refusal: KeyRefusal, address: string | null) => void) | undefined;
  logThrottle: LogThrottle;
  draining: boolean;
  connections: ConnectionLimit;
  /** Whether answers close their connections. */
  readonly closes: boolean;
  /** Headers that let pages of other origins read responses; `null` if they may not. */
  cors: Readonly<Record<string, string>> | null;
  /** Counts running exchanges, whose handlers may still use the services. */
  begun(): void;
  ended(): void;
}
