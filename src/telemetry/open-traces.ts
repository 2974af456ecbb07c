import type * as Api from '@opentelemetry/api';
import { setTimeout as sleep } from 'node:timers/promises';
import { StartError } from '../start-error.ts';
import type { TraceSettings } from '../settings/trace-settings.ts';
import { version } from '../version.ts';
import { type Log, LogThrottle } from './log.ts';
import type { Traces } from './traces.ts';

/** Most spans that wait to be sent; further ones are dropped. The spans of one request and its call take about 3 KB. */
const MOST_WAITING = 2_048;
const SENT_TOGETHER = 512;
/** How long spans are collected before they are sent. */
const GATHER_MS = 2_000;
/** Time limit for sending a batch, including retries while the receiver is unreachable. */
const SEND_MS = 4_000;
/** How long a process that ends waits for the receiver, by default. */
const FLUSH_MS = 2_000;
const REPEAT_MS = 60_000;
const LOGGED_CHARS = 300;

/**
 * Creates the spans of a process and sends them by OTLP. Without settings, returns null and loads nothing. Nothing waits for
 * the receiver: spans that it does not take in time are dropped, which is logged. Throws a StartError if the optional
 * packages that send spans are not installed.
 */
export async function openTraces(
  settings: TraceSettings | null,
  name: string,
  log: Log,
  flushMs: number = FLUSH_MS,
): Promise<Traces | null> {
  if (settings === null) return null;
  const [api, sdk, otlp, resources, { Traces: Made }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
    import('./traces.ts'),
  ]).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new StartError(
      'OTEL_EXPORTER_OTLP_ENDPOINT switches traces on, but the packages that send them are not installed: npm install --include=optional.',
    );
  });
  logProblems(api, log);
  const { url, sampler } = settings;
  const own = {
    'service.name': 'laurel',
    'service.version': version(),
    'process.pid': process.pid,
    'laurel.process': name,
  };
  const resource = resources
    .resourceFromAttributes(own)
    // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
    .merge(resources.detectResources({ detectors: [resources.envDetector] }));
  const provider = new sdk.TracerProvider({
    resource,
    // Sampling has already been decided: every span that exists is sent.
    sampler: new sdk.AlwaysOnSampler(),
    spanProcessors: [
      new sdk.BatchSpanProcessor({
        exporter: new otlp.OTLPTraceExporter({ url, timeoutMillis: SEND_MS }),
        maxQueueSize: MOST_WAITING,
        maxExportBatchSize: SENT_TOGETHER,
        scheduledDelayMillis: GATHER_MS,
      }),
    ],
  });
  const ratio = new sdk.TraceIdRatioBasedSampler(sampler.ratio);
  return new Made({
    tracer: provider.getTracer('laurel', version()),
    sampler,
    isInRatio: (traceId) =>
      ratio.shouldSample(api.ROOT_CONTEXT, traceId).decision === sdk.SamplingDecision.RECORD_AND_SAMPLED,
    flush: async () => {
      // Nothing waits any longer, so later failures are ignored.
      const flushed = provider.shutdown().catch(() => undefined);
      await Promise.race([flushed, sleep(flushMs, undefined, { ref: false })]);
    },
  });
}

/** Logs problems that the packages report, rate-limited. Excludes their debug output, which has a line per span. */
function logProblems({ diag, DiagLogLevel }: typeof Api, log: Log): void {
  const throttle = new LogThrottle(REPEAT_MS);
  const report = (problem: string): void =>
    throttle.log('', (suppressed) =>
      log.warn({ problem: problem.slice(0, LOGGED_CHARS), suppressed }, 'spans could not be sent, or not all of them'),
    );
  const nothing = (): void => undefined;
  diag.setLogger(
    { error: report, warn: report, info: nothing, debug: nothing, verbose: nothing },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}
