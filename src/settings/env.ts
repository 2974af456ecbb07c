import { resolve } from 'node:path';
import { KEY_PATTERN } from '../domain/schemas.ts';
import { APPLICATION_KEY_START, parseApiKey } from '../domain/administration/author.ts';
import { parseNetworks, type Network } from '../domain/networks.ts';
import { parseRedisUrls } from './redis-address.ts';
import { StartError } from '../start-error.ts';
import { traceSettings, type TraceSettings } from './trace-settings.ts';

/** `production` makes Laurel strict, so misspellings are refused. */
const NODE_ENVS = ['production', 'development', 'test'] as const;

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

export interface Env {
  production: boolean;
  host: string;
  /** Address on which the Admin API listens; default: this machine only. */
  adminHost: string;
  /** Further names that requests to the admin and metrics ports may have in `Host`, in lower case. */
  adminHostnames: readonly string[];
  appPort: number;
  adminPort: number;
  /** Port of a worker's `/metrics`, on ADMIN_HOST; `null` for none. */
  metricsPort: number | null;
  /** `null`: start a private server (never in production). */
  redisUrl: string | null;
  /** How long a replica may take to acknowledge a write before it is answered 503; `null` if the master alone suffices. */
  acknowledgeMs: number | null;
  /** `null`: start a private server (never in production). */
  databaseUrl: string | null;
  /** Absolute path of the private servers' data. */
  dataDir: string;
  /** The first admin key, `<prefix>.<body>`; `null`: generate one. */
  adminApiKey: string | null;
  testClock: boolean;
  httpProcesses: number;
  /** Maximum number of unstored outbox entries. Above it, events are answered 503. */
  backlogLimit: number;
  /** The same in bytes of Redis: `ENTRY_BYTES` for each entry. */
  backlogLimitBytes: number;
  /** Maximum number of idempotency keys of a user on a UTC day; 0: unlimited. */
  idempotencyKeysPerDay: number;
  /** The size of Postgres's disk; `null` if unknown. */
  postgresDiskBytes: number | null;
  auditRetentionDays: number;
  /** Whether webhooks may use private, loopback and link-local addresses. */
  webhookAllowPrivate: boolean;
  webhookLogDays: number;
  /** The application port as the outside world reaches it, without a slash at the end; `null` if it is not set. */
  publicUrl: string | null;
  /** Encrypts passwords that are stored in Postgres; `null` if it is not set. */
  secretsKey: Buffer | null;
  messageLogDays: number;
  /** Retention period of single events and awards; `null` for ever. */
  eventRetentionDays: number | null;
  environment: { name: string; key: string };
  /** Maximum size of a request body; more is answered 413. */
  bodyLimitBytes: number;
  /** The origin whose pages may use the Application API from a browser; `*` for any, `null` for none. */
  corsOrigin: string | null;
  /** Requests per second of a user's keys in a frontend, unless the organisation or the key sets a limit; 0: unlimited. */
  rateLimit: number;
  /** The same for an admin key. */
  adminRateLimit: number;
  /** Maximum number of live streams in a frontend. */
  liveConnections: number;
  /** Wrong keys per minute from an address before it is answered 429. */
  failedKeyLimit: number;
  trustedProxies: readonly Network[];
  logLevel: (typeof LOG_LEVELS)[number];
  traces: TraceSettings | null;
  /** Whether the first frontend migrates the database; otherwise it waits for `laurel migrate`. */
  migrateAtStart: boolean;
  /** Whether a database without configuration gets the demo (never in production). */
  demo: boolean;
}

export const ENVIRONMENT = { name: 'Production', key: 'production' };

/** One every nine seconds, all day. Each is kept for ever. */
export const IDEMPOTENCY_KEYS_PER_DAY = 10_000;

/** More than a year, so that yearly events can be looked up. */
export const AUDIT_RETENTION_DAYS = 400;

/** A receiver's operator has this long to notice a failure and request the missed messages. */
export const WEBHOOK_LOG_DAYS = 7;

/** People ask about an e-mail of last month. */
export const MESSAGE_LOG_DAYS = 30;
/** Random bytes in `SECRETS_KEY`. */
const SECRETS_KEY_BYTES = 32;

const ACKNOWLEDGE_MS = 1_000;

/** Average size of an outbox entry. Backlogs with larger entries are limited by size instead of number. */
const ENTRY_BYTES = 10_240;
/** Even with a very small BACKLOG_LIMIT, single large entries must fit. */
const LEAST_BACKLOG_BYTES = 1_048_576;

/** Prefix of Laurel's environment variables. Unknown ones with this prefix are refused. */
const PREFIX = 'LAUREL_';
/** `LAUREL_KEY` is of the command line, and often set where a server starts. */
const KNOWN: ReadonlySet<string> = new Set(['LAUREL_DEMO', 'LAUREL_KEY']);
/** Shorter secrets are for experiments; they are refused in production. */
const SECRET_LENGTH = 16;

/** A URL with several hosts separated by commas. The client would take them for one name. */
const SEVERAL_HOSTS = /^[a-z]+:\/\/(?:[^/?#]*@)?[^/?#@]*,/;

/** Also names of services with underscores. */
const HOSTNAME = /^[a-z0-9](?:[a-z0-9._-]{0,251}[a-z0-9])?$/;

type Variables = Readonly<Record<string, string | undefined>>;

/** Reads the environment; empty variables count as not set. Throws one `StartError` with all problems. */
export function readEnv(variables: Variables): Env {
  const problems: string[] = [];
  const read = reader(variables, problems);
  for (const name of Object.keys(variables)) {
    if (name.startsWith(PREFIX) && !KNOWN.has(name))
      problems.push(`${name} is not a setting of Laurel; see docs/operating/variables.md.`);
  }

  const production = read.choice('NODE_ENV', NODE_ENVS) === 'production';
  const backlogLimit = read.whole('BACKLOG_LIMIT', { fallback: 100_000, min: 1, max: 100_000_000 });
  const env: Env = {
    production,
    host: read.text('HOST') ?? '0.0.0.0',
    adminHost: read.text('ADMIN_HOST') ?? '127.0.0.1',
    adminHostnames: read.hostnames('ADMIN_HOSTNAMES'),
    appPort: read.whole('APP_PORT', { fallback: 8080, min: 1, max: 65_535 }),
    adminPort: read.whole('ADMIN_PORT', { fallback: 8081, min: 1, max: 65_535 }),
    metricsPort: read.optional('METRICS_PORT', { min: 1, max: 65_535 }),
    redisUrl: read.redisUrl('REDIS_URL'),
    acknowledgeMs: read.choice('REDIS_ACKNOWLEDGE', ['master', 'replica']) === 'replica' ? ACKNOWLEDGE_MS : null,
    databaseUrl: read.url('DATABASE_URL', ['postgres:', 'postgresql:']),
    dataDir: resolve(read.text('DATA_DIR') ?? '.laurel'),
    adminApiKey: read.text('ADMIN_API_KEY'),
    testClock: read.flag('TEST_CLOCK'),
    httpProcesses: read.whole('HTTP_PROCESSES', { fallback: 1, min: 1, max: 64 }),
    backlogLimit,
    backlogLimitBytes: Math.max(LEAST_BACKLOG_BYTES, backlogLimit * ENTRY_BYTES),
    idempotencyKeysPerDay: read.whole('IDEMPOTENCY_KEYS_PER_DAY', {
      fallback: IDEMPOTENCY_KEYS_PER_DAY,
      min: 0,
      max: 1_000_000,
    }),
    postgresDiskBytes: gigabytes(read.optional('POSTGRES_DISK_GB', { min: 1, max: 1_000_000 })),
    auditRetentionDays: read.whole('AUDIT_RETENTION_DAYS', { fallback: AUDIT_RETENTION_DAYS, min: 1, max: 36_500 }),
    webhookAllowPrivate: read.flag('WEBHOOK_ALLOW_PRIVATE'),
    webhookLogDays: read.whole('WEBHOOK_LOG_DAYS', { fallback: WEBHOOK_LOG_DAYS, min: 2, max: 366 }),
    publicUrl: read.publicUrl('PUBLIC_URL'),
    secretsKey: read.key('SECRETS_KEY'),
    messageLogDays: read.whole('MESSAGE_LOG_DAYS', { fallback: MESSAGE_LOG_DAYS, min: 2, max: 366 }),
    eventRetentionDays: read.optional('EVENT_RETENTION_DAYS', { min: 2, max: 36_500 }),
    environment: {
      name: read.text('ENVIRONMENT_NAME') ?? ENVIRONMENT.name,
      key: read.text('ENVIRONMENT_KEY') ?? ENVIRONMENT.key,
    },
    bodyLimitBytes: read.whole('BODY_LIMIT', { fallback: 4_194_304, min: 1_024, max: 67_108_864 }),
    corsOrigin: read.origin('CORS_ORIGIN', '*'),
    rateLimit: read.whole('RATE_LIMIT', { fallback: 50, min: 0, max: 1_000_000 }),
    adminRateLimit: read.whole('ADMIN_RATE_LIMIT', { fallback: 0, min: 0, max: 1_000_000 }),
    liveConnections: read.whole('LIVE_CONNECTIONS', { fallback: 10_000, min: 0, max: 1_000_000 }),
    failedKeyLimit: read.whole('FAILED_KEY_LIMIT', { fallback: 60, min: 1, max: 1_000_000 }),
    trustedProxies: read.networks('TRUSTED_PROXIES'),
    logLevel: read.choice('LOG_LEVEL', LOG_LEVELS) ?? 'info',
    traces: traceSettings(read, problems),
    migrateAtStart: read.flag('MIGRATE_AT_START', true),
    demo: !production && read.flag('LAUREL_DEMO', true),
  };

  if (!new RegExp(KEY_PATTERN).test(env.environment.key))
    problems.push(`ENVIRONMENT_KEY may have letters, digits, "-" and "_"; it is "${env.environment.key}".`);
  const adminKey = env.adminApiKey === null ? null : parseApiKey(env.adminApiKey);
  if (env.adminApiKey !== null && adminKey === null) {
    problems.push(
      'ADMIN_API_KEY must be "<prefix>.<body>": a prefix of 1 to 64 letters, digits, "_" or "-", a body of 1 to 256, also of "+/=".',
    );
  }
  if (production && adminKey !== null && adminKey.body.length < SECRET_LENGTH)
    problems.push(`ADMIN_API_KEY must have a body of at least ${SECRET_LENGTH} characters with NODE_ENV=production.`);
  if (env.adminApiKey?.startsWith(APPLICATION_KEY_START))
    problems.push(`ADMIN_API_KEY must not begin with "${APPLICATION_KEY_START}": application keys do.`);
  if (env.appPort === env.adminPort) problems.push('APP_PORT and ADMIN_PORT must differ.');
  if (env.metricsPort !== null && [env.appPort, env.adminPort].includes(env.metricsPort))
    problems.push('METRICS_PORT must differ from APP_PORT and ADMIN_PORT.');
  if (production && env.testClock) problems.push('TEST_CLOCK is refused with NODE_ENV=production.');
  if (production && (env.redisUrl === null || env.databaseUrl === null)) {
    problems.push('With NODE_ENV=production both REDIS_URL and DATABASE_URL must be set: nothing is embedded there.');
  }
  if (problems.length > 0) throw new StartError(problems.join('\n'));
  return env;
}

/** `null` stays `null`. */
const gigabytes = (count: number | null): number | null => (count === null ? null : count * 1_000_000_000);

function reader(variables: Variables, problems: string[]) {
  const text = (name: string): string | null => {
    const value = variables[name]?.trim();
    return value === undefined || value === '' ? null : value;
  };
  const choice = <T extends string>(name: string, allowed: readonly T[]): T | null => {
    const value = text(name);
    if (value === null || (allowed as readonly string[]).includes(value)) return value as T | null;
    problems.push(`${name} must be one of ${allowed.join(', ')}; it is "${value}".`);
    return null;
  };
  const optional = (name: string, { min, max }: { min: number; max: number }): number | null => {
    const value = text(name);
    if (value === null) return null;
    const number = /^\d{1,12}$/.test(value) ? Number(value) : NaN;
    if (number >= min && number <= max) return number;
    problems.push(`${name} must be a whole number from ${min} to ${max}; it is "${value}".`);
    return null;
  };
  return {
    text,
    choice,
    flag: (name: string, fallback = false): boolean => (choice(name, ['0', '1']) ?? String(Number(fallback))) === '1',
    whole: (name: string, { fallback, ...bounds }: { fallback: number; min: number; max: number }): number =>
      optional(name, bounds) ?? fallback,
    optional,
    /** `*`, one origin, or `none`. */
    origin: (name: string, fallback: string): string | null => {
      const value = text(name) ?? fallback;
      if (value === 'none') return null;
      if (
        value === '*' ||
        (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol) && new URL(value).origin === value)
      )
        return value;
      problems.push(`${name} must be "*", "none" or one origin such as https://app.example; it is "${value}".`);
      return null;
    },
    /** Addresses and networks, separated by commas; empty if not set. */
    networks: (name: string): readonly Network[] => {
      const value = text(name);
      const networks = value === null ? [] : parseNetworks(value);
      if (networks !== null) return networks;
      problems.push(`${name} must be addresses or networks such as 10.0.0.0/8, separated by commas; it is "${value}".`);
      return [];
    },
    /** Host names without ports, separated by commas; empty if not set. */
    hostnames: (name: string): readonly string[] => {
      const names = (text(name) ?? '')
        .toLowerCase()
        .split(',')
        .map((one) => one.trim())
        .filter((one) => one !== '');
      const wrong = names.find((one) => !HOSTNAME.test(one));
      if (wrong === undefined) return names;
      problems.push(`${name} must be host names without ports, separated by commas; it has "${wrong}".`);
      return [];
    },
    /** A base URL for links, which may have a path. Browsers and mail programs expect TLS. */
    publicUrl: (name: string): string | null => {
      const value = text(name);
      const url = value !== null && URL.canParse(value) ? new URL(value) : null;
      if (value === null) return null;
      if (url?.protocol === 'https:' && url.search === '' && url.hash === '' && url.username === '')
        return url.href.replace(/\/+$/, '');
      problems.push(
        `${name} must begin with https:// and have no query, such as https://laurel.example.com; it is "${value}".`,
      );
      return null;
    },
    /** Base64 of random bytes. The message never contains the value. */
    key: (name: string): Buffer | null => {
      const value = text(name);
      if (value === null) return null;
      const key = /^[\w+/-]+={0,2}$/.test(value) ? Buffer.from(value, 'base64') : Buffer.alloc(0);
      if (key.length >= SECRETS_KEY_BYTES) return key;
      problems.push(
        `${name} must be base64 of at least ${SECRETS_KEY_BYTES} bytes: openssl rand -base64 32 makes one.`,
      );
      return null;
    },
    /** URLs that `parseRedisUrls` accepts. */
    redisUrl: (name: string): string | null => {
      const value = text(name);
      if (value === null) return null;
      const addresses = parseRedisUrls(value);
      if (typeof addresses === 'string') problems.push(`${name} ${addresses}`);
      return value;
    },
    url: (name: string, protocols: readonly string[]): string | null => {
      const value = text(name);
      if (value === null) return null;
      if (SEVERAL_HOSTS.test(value)) {
        problems.push(`${name} names several hosts; name one address that leads to the one which takes writes.`);
        return null;
      }
      if (URL.canParse(value) && protocols.includes(new URL(value).protocol)) return value;
      problems.push(`${name} must be a URL that begins with ${protocols.map((p) => `${p}//`).join(' or ')}.`);
      return null;
    },
  };
}
