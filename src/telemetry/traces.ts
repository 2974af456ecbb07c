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
import type { Sampler } from '../trace-settings.ts';
import { parseTraceParent } from './trace-parent.ts';

/** A span that is no request's. */
export interface WorkSpan {
  name: string;
  /** Whether it is a call of another server; else it is work within this process. */
  isCall: boolean;
  /** What it says from its beginning; asked where it is sampled. */
  attributes: () => Attributes;
}

/**
 * Makes the spans of a process. Whether there is to be one is decided before anything is made: by the caller's decision, or by
 * chance. What is not sampled costs a random number, and nothing else. Spans hold no IDs of users, no keys, no addresses and no
 * texts of errors: what they say outlives the deletion of a user.
 */
export class Traces {
  private readonly options: {
    tracer: Tracer;
    sampler: Sampler;
    /** Whether a trace that somebody else began is among the ratio: the same everywhere. */
    isInRatio: (traceId: string) => boolean;
    flush: () => Promise<void>;
  };

  constructor(options: Traces['options']) {
    this.options = options;
  }

  /**
   * The span of a request, which continues the trace of its `traceparent` header ('' without one); null: it is not sampled. To be
   * ended with `answered` or `abandoned`.
   */
  request({ name, attributes }: { name: string; attributes: Attributes }, header: string): Span | null {
    const parent = parseTraceParent(header);
    if (!this.isSampled(parent)) return null;
    const context = parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
    return this.options.tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, context);
  }

  /** Ends the span of a request with its answer. An error of the server is one of the span; one of the client is not. */
  answered(span: Span, { status, requestId }: { status: number; requestId: string }): void {
    span.setAttribute('http.response.status_code', status).setAttribute('laurel.request_id', requestId);
    if (status >= 500) span.setAttribute('error.type', String(status)).setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  }

  /** Ends the span of a request whose client left before it was answered. */
  abandoned(span: Span): void {
    span.setAttribute('error.type', 'client_left').end();
  }

  /**
   * The span of what is done for some requests together, at least one: within the trace of the first, with links to and from
   * the spans of all. To be ended with `ended`.
   */
  forRequests({ name, isCall, attributes }: WorkSpan, requests: readonly Span[]): Span {
    const context = trace.setSpan(ROOT_CONTEXT, requests[0]!);
    const links = requests.map((request) => ({ context: request.spanContext() }));
    const options = { kind: kindOf(isCall), attributes: attributes(), links };
    const span = this.options.tracer.startSpan(name, options, context);
    for (const request of requests) if (request !== requests[0]) request.addLink({ context: span.spanContext() });
    return span;
  }

  /** The span of what nobody's request began; null: it is not sampled. To be ended with `ended`. */
  root({ name, isCall, attributes }: WorkSpan): Span | null {
    if (!this.isSampled(null)) return null;
    return this.options.tracer.startSpan(name, { kind: kindOf(isCall), attributes: attributes() }, ROOT_CONTEXT);
  }

  /** Ends a span; `problem`: one word for what went wrong. */
  ended(span: Span, problem?: string): void {
    if (problem !== undefined) span.setAttribute('error.type', problem).setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  }

  /** Sends what has ended, as far as it is taken within a few seconds, and makes no more. Never rejects. */
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
