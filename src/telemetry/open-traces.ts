import type * as Api from '@opentelemetry/api';
import { setTimeout as sleep } from 'node:timers/promises';
import { StartError } from '../start-error.ts';
import type { TraceSettings } from '../trace-settings.ts';
import { version } from '../version.ts';
import { type Log, LogThrottle } from './log.ts';
import type { Traces } from './traces.ts';

/** Spans that wait to be sent, at most: further ones are dropped. Of one request with its call, some 3 KB. */
const MOST_WAITING = 2_048;
const SENT_TOGETHER = 512;
/** How long spans are gathered. */
const GATHER_MS = 2_000;
/** Until when what was gathered is tried to be sent, again and again where the receiver is away. */
const SEND_MS = 4_000;
/** A process that ends waits for the receiver of its spans no longer than this, unless it is said otherwise. */
const FLUSH_MS = 2_000;
/** The same problem is not logged again sooner. */
const REPEAT_MS = 60_000;
/** Of the text of a problem. */
const LOGGED_CHARS = 300;

/**
 * Makes the spans of a process, and sends them by OTLP; null, and nothing is loaded, without settings. Nothing waits for the
 * receiver: what it does not take in time is dropped, and said in the log. Throws a StartError where the packages that send are
 * not installed, which are optional.
 */
export async function openTraces(
  settings: TraceSettings | null,
  { process: name, log, flushMs = FLUSH_MS }: { process: string; log: Log; flushMs?: number },
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
      'Traces are switched on by OTEL_EXPORTER_OTLP_ENDPOINT, but what sends them is not installed: npm install --include=optional.',
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
    // Sampled already: what is made is to be sent.
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
      // Nothing is to be waited for any more: what fails now fails in silence.
      const flushed = provider.shutdown().catch(() => undefined);
      await Promise.race([flushed, sleep(flushMs, undefined, { ref: false })]);
    },
  });
}

/** Has what the packages have to say logged, now and then. Not their debugging: that would be a line a span. */
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
