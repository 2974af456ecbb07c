/** Selects the spans to make, in the terms of `OTEL_TRACES_SAMPLER`. */
export interface Sampler {
  /** Whether to follow the decision that a request brings. */
  byParent: boolean;
  /** Share of everything else, 0 to 1. */
  ratio: number;
}

export interface TraceSettings {
  url: string;
  sampler: Sampler;
}

interface Reader {
  text: (name: string) => string | null;
  url: (name: string, protocols: readonly string[]) => string | null;
}

const SAMPLERS: readonly string[] = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
];

const TRACES_PATH = 'v1/traces';
/** A header pair by the standard: a token, `=`, and a value in which separators are percent-encoded. */
const HEADER_PAIR = /^\s*[\w!#$%&'*+.^`|~-]+\s*=[^,;]*$/;

/**
 * The settings for traces from OpenTelemetry's standard variables; `null` if no endpoint is set or traces are switched
 * off. Adds a sentence to `problems` for each error. Reads only the variables on which Laurel's behaviour depends; the
 * OpenTelemetry packages read names, headers, time-outs, compression and certificates themselves.
 */
export function traceSettings(read: Reader, problems: string[]): TraceSettings | null {
  const endpoint = read.url('OTEL_EXPORTER_OTLP_ENDPOINT', ['http:', 'https:']);
  const own = read.url('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', ['http:', 'https:']);
  const url = own ?? (endpoint === null ? null : `${endpoint.replace(/\/$/, '')}/${TRACES_PATH}`);
  const exporter = read.text('OTEL_TRACES_EXPORTER') ?? 'otlp';
  if (url === null || exporter === 'none' || read.text('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return null;
  if (exporter !== 'otlp') problems.push(`OTEL_TRACES_EXPORTER must be otlp or none; it is "${exporter}".`);
  const protocol = read.text('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') ?? read.text('OTEL_EXPORTER_OTLP_PROTOCOL');
  if (protocol !== null && protocol !== 'http/json')
    problems.push(`OTEL_EXPORTER_OTLP_PROTOCOL must be http/json, or not set; it is "${protocol}".`);
  const headers = read.text('OTEL_EXPORTER_OTLP_HEADERS');
  if (headers !== null && !headers.split(',').every((pair) => HEADER_PAIR.test(pair)))
    problems.push('OTEL_EXPORTER_OTLP_HEADERS must be pairs "name=value", separated by commas.');
  return { url, sampler: sampler(read, problems) };
}

function sampler(read: Reader, problems: string[]): Sampler {
  const name = read.text('OTEL_TRACES_SAMPLER') ?? 'parentbased_always_on';
  if (!SAMPLERS.includes(name))
    problems.push(`OTEL_TRACES_SAMPLER must be one of ${SAMPLERS.join(', ')}; it is "${name}".`);
  const byParent = name.startsWith('parentbased_');
  if (!name.endsWith('traceidratio')) return { byParent, ratio: name.endsWith('always_on') ? 1 : 0 };
  const share = read.text('OTEL_TRACES_SAMPLER_ARG') ?? '1';
  const ratio = Number(share);
  if (!(ratio >= 0 && ratio <= 1))
    problems.push(`OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1; it is "${share}".`);
  return { byParent, ratio };
}
