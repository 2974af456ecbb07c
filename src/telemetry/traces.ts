import {
  type Attributes,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import type { Sampler } from '../settings/trace-settings.ts';
import { parseTraceParent } from './trace-parent.ts';

export interface WorkSpan {
  name: string;
  /** Whether it is a call to another server; otherwise work within this process. */
  isCall: boolean;
  /** Its initial attributes; called only if the span is sampled. */
  attributes: () => Attributes;
}

/**
 * Creates the spans of a process. Sampling is decided first, by the caller's decision or by chance, so an unsampled span
 * costs only a random number. Spans contain no user IDs, keys, addresses or error messages, because they outlive the
 * deletion of a user.
 */
export class Traces {
  private readonly options: {
    tracer: Tracer;
    sampler: Sampler;
    /** Whether a trace that another service began is sampled by the ratio. Consistent across services. */
    isInRatio: (traceId: string) => boolean;
    flush: () => Promise<void>;
  };

  constructor(options: Traces['options']) {
    this.options = options;
  }

  /** A request's span, in the trace of `traceparent` ('' if none); null if not sampled. End it. */
  request({ name, attributes }: { name: string; attributes: Attributes }, header: string): Span | null {
    const parent = parseTraceParent(header);
    if (!this.isSampled(parent)) return null;
    const context = parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
    return this.options.tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, context);
  }

  /** Ends a request's span with its answer. A server error marks the span as failed; a client error does not. */
  answered(span: Span, status: number, requestId: string): void {
    span.setAttribute('http.response.status_code', status).setAttribute('laurel.request_id', requestId);
    if (status >= 500) span.setAttribute('error.type', String(status)).setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  }

  /** Ends a request's span because the client left before the answer. */
  abandoned(span: Span): void {
    span.setAttribute('error.type', 'client_left').end();
  }

  /** The span of work for several requests, in the trace of the first. End it with `ended`. */
  forRequests({ name, isCall, attributes }: WorkSpan, requests: readonly Span[]): Span {
    const context = trace.setSpan(ROOT_CONTEXT, requests[0]!);
    const links = requests.map((request) => ({ context: request.spanContext() }));
    const options = { kind: kindOf(isCall), attributes: attributes(), links };
    const span = this.options.tracer.startSpan(name, options, context);
    for (const request of requests) if (request !== requests[0]) request.addLink({ context: span.spanContext() });
    return span;
  }

  /** The span of work that no request caused; null if it is not sampled. End it with `ended`. */
  root({ name, isCall, attributes }: WorkSpan): Span | null {
    if (!this.isSampled(null)) return null;
    return this.options.tracer.startSpan(name, { kind: kindOf(isCall), attributes: attributes() }, ROOT_CONTEXT);
  }

  /** Ends a span. `problem`: one word for what went wrong. */
  ended(span: Span, problem?: string): void {
    if (problem !== undefined) span.setAttribute('error.type', problem).setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  }

  /** Sends ended spans, for a few seconds at most, and creates no more. Never rejects. */
  close(): Promise<void> {
    return this.options.flush();
  }

  private isSampled(parent: SpanContext | null): boolean {
    const { sampler, isInRatio } = this.options;
    if (parent === null) return Math.random() < sampler.ratio;
    return sampler.byParent ? parent.traceFlags !== 0 : isInRatio(parent.traceId);
  }
}

const kindOf = (isCall: boolean): SpanKind => (isCall ? SpanKind.CLIENT : SpanKind.INTERNAL);
