import { Receiver, type Answer } from '../engine/webhooks/receiver.ts';

/** A span as it came. */
export interface SeenSpan {
  traceId: string;
  spanId: string;
  /** '' of one that begins its trace. */
  parentSpanId: string;
  name: string;
  /** As OTLP numbers them: 1 internal, 2 server, 3 client. */
  kind: number;
  attributes: Record<string, string | number>;
  links: { traceId: string; spanId: string }[];
  /** 2: an error. */
  status: number | undefined;
  /** What the process says of itself. */
  resource: Record<string, string | number>;
}

type Pairs = { key: string; value: { stringValue?: string; intValue?: number | string } }[];

interface Sent {
  resourceSpans: {
    resource: { attributes: Pairs };
    scopeSpans: {
      spans: (Omit<SeenSpan, 'attributes' | 'status' | 'links' | 'resource' | 'parentSpanId'> & {
        parentSpanId?: string;
        attributes: Pairs;
        links: SeenSpan['links'];
        status: { code?: number };
      })[];
    }[];
  }[];
}

const record = (pairs: Pairs): Record<string, string | number> =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]));

/** A server that takes spans by OTLP over HTTP, as JSON. */
export class SpanReceiver {
  readonly receiver: Receiver;

  private constructor(receiver: Receiver) {
    this.receiver = receiver;
  }

  /** `plan`: what it does with what it is sent; by default it takes it. */
  static async start(plan?: () => Answer): Promise<SpanReceiver> {
    return new SpanReceiver(await Receiver.start(plan));
  }

  /** As OTEL_EXPORTER_OTLP_ENDPOINT has it. */
  get endpoint(): string {
    return this.receiver.url.replace(/\/$/, '');
  }

  get spans(): SeenSpan[] {
    return this.receiver.received.flatMap(({ body }) =>
      (JSON.parse(body) as Sent).resourceSpans.flatMap(({ resource, scopeSpans }) =>
        scopeSpans.flatMap(({ spans }) =>
          spans.map(({ parentSpanId = '', attributes, status, ...span }) => ({
            ...span,
            parentSpanId,
            attributes: record(attributes),
            status: status.code,
            resource: record(resource.attributes),
          })),
        ),
      ),
    );
  }

  named(name: string): SeenSpan[] {
    return this.spans.filter((span) => span.name === name);
  }

  close(): Promise<void> {
    return this.receiver.close();
  }
}
