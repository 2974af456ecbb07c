/** Which spans are made, by the names of `OTEL_TRACES_SAMPLER`. */
export interface Sampler {
  /** Whether the caller's decision holds, where a request comes with one. */
  byParent: boolean;
  /** Of everything else: the share, 0 to 1. */
  ratio: number;
}

/** Where spans go. */
export interface TraceSettings {
  /** To which they are posted. */
  url: string;
  sampler: Sampler;
}

/** Reads variables; an empty one counts as not set. */
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
/** What the standard lets a header's pair be: a token, `=`, a value with percent signs for what would divide pairs. */
const HEADER_PAIR = /^\s*[\w!#$%&'*+.^`|~-]+\s*=[^,;]*$/;

/**
 * The settings of traces by the standard variables of OpenTelemetry; null: no endpoint is set, or it is switched off. Adds a
 * sentence to `problems` for everything that is wrong. What is read here is what decides; names, headers, time-outs,
 * compression and certificates the OpenTelemetry packages read from the environment themselves, as the standard names them.
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
