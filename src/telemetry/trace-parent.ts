import type { SpanContext } from '@opentelemetry/api';

/** `version-traceId-spanId-flags` in hex. Later versions may append more after a dash. */
const TRACE_PARENT = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/;
const SAMPLED = 1;

/** The span that a `traceparent` header names (W3C Trace Context, §3.2); null if there is none or it is malformed. */
export function parseTraceParent(header: string): SpanContext | null {
  if (header === '') return null;
  const [, version, traceId, spanId, flags, more] = TRACE_PARENT.exec(header) ?? [];
  if (traceId === undefined || (version === '00' && more !== undefined)) return null;
  return { traceId, spanId: spanId!, traceFlags: Number.parseInt(flags!, 16) & SAMPLED, isRemote: true };
}

/** The header with which other services continue a span's trace. */
export const traceParent = ({ traceId, spanId, traceFlags }: SpanContext): string =>
  `00-${traceId}-${spanId}-0${traceFlags & SAMPLED}`;
