import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readEnv } from '../../src/settings/env.ts';
import { StartError } from '../../src/start-error.ts';

const spans = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
const servers = { REDIS_URL: 'redis://r:6379', DATABASE_URL: 'postgres://l:x@p/laurel' };

describe('readEnv', () => {
  test('LAUREL_KEY, the key of the command line, may be set beside the settings', () => {
    expect(readEnv({ LAUREL_KEY: 'adm_x.y' })).toEqual(readEnv({}));
  });

  test('defaults of an empty environment', () => {
    expect(readEnv({})).toEqual({
      production: false,
      demo: true,
      host: '0.0.0.0',
      adminHost: '127.0.0.1',
      appPort: 8080,
      adminPort: 8081,
      redisUrl: null,
      acknowledgeMs: null,
      databaseUrl: null,
      dataDir: resolve('.laurel'),
      adminApiKey: null,
      testClock: false,
      webhookAllowPrivate: false,
      webhookLogDays: 7,
      messageLogDays: 30,
      publicUrl: null,
      secretsKey: null,
      eventRetentionDays: null,
      environment: { name: 'Production', key: 'production' },
      metricsPort: null,
      httpProcesses: 1,
      backlogLimit: 100_000,
      backlogLimitBytes: 1_024_000_000,
      auditRetentionDays: 400,
      postgresDiskBytes: null,
      migrateAtStart: true,
      bodyLimitBytes: 4_194_304,
      corsOrigin: '*',
      idempotencyKeysPerDay: 10_000,
      rateLimit: 50,
      adminRateLimit: 0,
      liveConnections: 10_000,
      failedKeyLimit: 60,
      trustedProxies: [],
      adminHostnames: [],
      logLevel: 'info',
      traces: null,
    });
  });

  test('the backlog may take 10 KiB per entry, and at least 1 MiB', () => {
    expect(readEnv({ BACKLOG_LIMIT: '200000' }).backlogLimitBytes).toBe(2_048_000_000);
    expect(readEnv({ BACKLOG_LIMIT: '1' }).backlogLimitBytes).toBe(1_048_576);
  });

  test("the size of Postgres's disk is in GB", () => {
    expect(readEnv({ POSTGRES_DISK_GB: '20' }).postgresDiskBytes).toBe(20_000_000_000);
  });

  test('an empty variable counts as not set', () => {
    expect(readEnv({ APP_PORT: '', REDIS_URL: ' ' })).toEqual(readEnv({}));
  });

  test('a replica must acknowledge within a second', () => {
    expect(readEnv({ REDIS_ACKNOWLEDGE: 'replica' }).acknowledgeMs).toBe(1_000);
    expect(readEnv({ REDIS_ACKNOWLEDGE: 'master' }).acknowledgeMs).toBe(null);
  });

  test('the key for secrets is base64 of at least 32 bytes, and never in the error', () => {
    expect(readEnv({ SECRETS_KEY: Buffer.alloc(32, 7).toString('base64') }).secretsKey).toEqual(Buffer.alloc(32, 7));
    for (const key of ['c2hvcnQta2V5', 'not base64 but long enough for a key of 32 bytes']) {
      expect(() => readEnv({ SECRETS_KEY: key })).toThrow(/SECRETS_KEY must be base64/);
      expect(() => readEnv({ SECRETS_KEY: key })).not.toThrow(key);
    }
  });

  test('the public URL has TLS and no query, and loses a slash at its end', () => {
    expect(readEnv({ PUBLIC_URL: 'https://laurel.example/base/' }).publicUrl).toBe('https://laurel.example/base');
    for (const url of ['http://laurel.example', 'https://laurel.example/?a=b', 'laurel.example'])
      expect(() => readEnv({ PUBLIC_URL: url })).toThrow(/PUBLIC_URL must begin with https:/);
  });

  test('reads values', () => {
    const env = readEnv({
      ...servers,
      NODE_ENV: 'production',
      APP_PORT: '9000',
      ADMIN_API_KEY: 'admin_ab.0123456789abcdef',
      HTTP_PROCESSES: '4',
      LOG_LEVEL: 'debug',
      DATA_DIR: '/somewhere',
    });
    expect(env).toMatchObject({
      production: true,
      appPort: 9000,
      redisUrl: servers.REDIS_URL,
      databaseUrl: servers.DATABASE_URL,
      adminApiKey: 'admin_ab.0123456789abcdef',
      httpProcesses: 4,
      logLevel: 'debug',
      dataDir: '/somewhere',
    });
  });

  test('ADMIN_API_KEY, the first admin key, <prefix>.<body>: may be short outside production', () => {
    expect(readEnv({ ADMIN_API_KEY: 'test.secret' }).adminApiKey).toBe('test.secret');
  });

  test.each([
    ['none', null],
    ['*', '*'],
    ['https://app.example:8443', 'https://app.example:8443'],
  ])('CORS_ORIGIN %s', (value, corsOrigin) => {
    expect(readEnv({ CORS_ORIGIN: value }).corsOrigin).toBe(corsOrigin);
  });

  test.each([
    [{ APP_PORT: 'x' }, 'APP_PORT must be a whole number from 1 to 65535; it is "x".'],
    [{ APP_PORT: '0' }, 'APP_PORT must be'],
    [{ ADMIN_PORT: '65536' }, 'ADMIN_PORT must be'],
    [{ METRICS_PORT: '0' }, 'METRICS_PORT must be'],
    [{ METRICS_PORT: '8081' }, 'METRICS_PORT must differ from APP_PORT and ADMIN_PORT.'],
    [{ ADMIN_PORT: '8080' }, 'APP_PORT and ADMIN_PORT must differ.'],
    [{ HTTP_PROCESSES: '1.5' }, 'HTTP_PROCESSES must be'],
    [{ BODY_LIMIT: '-1' }, 'BODY_LIMIT must be'],
    [{ RATE_LIMIT: '-1' }, 'RATE_LIMIT must be a whole number from 0 to 1000000; it is "-1".'],
    [
      { REDIS_URL: 'localhost:6379' },
      'REDIS_URL must be a URL that begins with redis:// or rediss://, or for Sentinels',
    ],
    [{ REDIS_URL: 'redis://a:1,b:2' }, 'REDIS_URL has several hosts; only redis+sentinel:// allows that.'],
    [{ REDIS_URL: 'redis://a?ca=/ca.pem' }, 'REDIS_URL names a certificate authority but has no TLS'],
    [{ REDIS_ACKNOWLEDGE: 'all' }, 'REDIS_ACKNOWLEDGE must be one of master, replica; it is "all".'],
    [{ DATABASE_URL: 'postgres://l:x@a,b/laurel' }, 'DATABASE_URL names several hosts; name one address'],
    [{ DATABASE_URL: 'postgres://l:x@a:1,b:2/laurel' }, 'DATABASE_URL names several hosts; name one address'],
    [{ DATABASE_URL: 'mysql://x' }, 'DATABASE_URL must be'],
    [{ TRUSTED_PROXIES: '10.0.0.0/8, proxy' }, 'TRUSTED_PROXIES must be addresses or networks'],
    [
      { ADMIN_HOSTNAMES: 'a.example, b.example:80' },
      'ADMIN_HOSTNAMES must be host names without ports, separated by commas; it has "b.example:80".',
    ],
    [{ FAILED_KEY_LIMIT: '0' }, 'FAILED_KEY_LIMIT must be a whole number'],
    [{ NODE_ENV: 'Production' }, 'NODE_ENV must be one of production, development, test; it is "Production".'],
    [{ NODE_ENV: 'prod' }, 'NODE_ENV must be one of production, development, test; it is "prod".'],
    [{ NODE_ENV: 'staging' }, 'NODE_ENV must be one of'],
    [{ TEST_CLOCK: 'yes' }, 'TEST_CLOCK must be one of 0, 1; it is "yes".'],
    [{ CORS_ORIGIN: 'https://app.example/path' }, 'CORS_ORIGIN must be "*", "none" or one origin'],
    [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL must be one of'],
    [{ ADMIN_API_KEY: 'no-dot-in-this-one-at-all' }, 'ADMIN_API_KEY must be'],
    [{ ADMIN_API_KEY: 'no-body.' }, 'ADMIN_API_KEY must be'],
    [
      { ...servers, NODE_ENV: 'production', ADMIN_API_KEY: 'a.short' },
      'ADMIN_API_KEY must have a body of at least 16 characters with NODE_ENV=production.',
    ],
    [{ ADMIN_API_KEY: 'app_x.0123456789abcdef' }, 'ADMIN_API_KEY must not begin with "app_"'],
    [{ ...servers, NODE_ENV: 'production', TEST_CLOCK: '1' }, 'TEST_CLOCK is refused with NODE_ENV=production.'],
    [{ NODE_ENV: 'production' }, 'both REDIS_URL and DATABASE_URL must be set'],
    [{ LAUREL_DEMO: 'no' }, 'LAUREL_DEMO must be one of 0, 1; it is "no".'],
    [{ ...spans, OTEL_TRACES_EXPORTER: 'zipkin' }, 'OTEL_TRACES_EXPORTER must be otlp or none; it is "zipkin".'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' }, 'OTEL_EXPORTER_OTLP_ENDPOINT must be a URL'],
    [
      { ...spans, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
      'OTEL_EXPORTER_OTLP_PROTOCOL must be http/json, or not set; it is "grpc".',
    ],
    [{ ...spans, OTEL_EXPORTER_OTLP_HEADERS: 'Bearer hush' }, 'OTEL_EXPORTER_OTLP_HEADERS must be pairs "name=value"'],
    [
      { ...spans, OTEL_TRACES_SAMPLER: 'always' },
      'OTEL_TRACES_SAMPLER must be one of always_on, always_off, traceidratio,',
    ],
    [
      { ...spans, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '1 %' },
      'OTEL_TRACES_SAMPLER_ARG must be a number',
    ],
    [{ LAUREL_PORT: '1' }, 'LAUREL_PORT is not a setting of Laurel'],
  ])('refuses %o with a sentence', (variables, sentence) => {
    expect(() => readEnv(variables)).toThrow(StartError);
    expect(() => readEnv(variables)).toThrow(sentence);
  });

  test.each([
    [undefined, undefined, { byParent: true, ratio: 1 }],
    ['always_on', undefined, { byParent: false, ratio: 1 }],
    ['always_off', undefined, { byParent: false, ratio: 0 }],
    ['parentbased_always_off', '1', { byParent: true, ratio: 0 }],
    ['traceidratio', '0.25', { byParent: false, ratio: 0.25 }],
    ['traceidratio', undefined, { byParent: false, ratio: 1 }],
    ['parentbased_traceidratio', '0', { byParent: true, ratio: 0 }],
  ])('OTEL_TRACES_SAMPLER %s, of %s', (name, share, sampler) => {
    const variables = { ...spans, OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: share };
    expect(readEnv(variables).traces).toEqual({ url: 'http://collector:4318/v1/traces', sampler });
  });

  test('uses the traces endpoint unchanged, and OTEL_SDK_DISABLED switches everything off', () => {
    const own = { ...spans, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example/in' };
    expect(readEnv(own).traces?.url).toBe('https://traces.example/in');
    expect(readEnv({ ...own, OTEL_SDK_DISABLED: 'TRUE' }).traces).toBeNull();
    expect(readEnv({ ...own, OTEL_TRACES_EXPORTER: 'none' }).traces).toBeNull();
  });

  test('configures the demo unless it is disabled, and never in production', () => {
    expect(readEnv({}).demo).toBe(true);
    expect(readEnv({ LAUREL_DEMO: '1' }).demo).toBe(true);
    expect(readEnv({ LAUREL_DEMO: '0' }).demo).toBe(false);
    expect(readEnv({ ...servers, NODE_ENV: 'production', LAUREL_DEMO: '1' }).demo).toBe(false);
  });

  test('reports every error at once, and no secret', () => {
    const variables = { APP_PORT: 'x', ADMIN_API_KEY: 'hush-hush', DATABASE_URL: 'hush-hush' };
    expect(() => readEnv(variables)).toThrow(/APP_PORT[^]*DATABASE_URL[^]*ADMIN_API_KEY/);
    expect(() => readEnv(variables)).not.toThrow(/hush/);
  });
});
