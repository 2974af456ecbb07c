import { Receiver, type Answer } from '../engine/webhooks/receiver.ts';

/** A received span. */
export interface SeenSpan {
  traceId: string;
  spanId: string;
  /** '' if it begins its trace. */
  parentSpanId: string;
  name: string;
  /** OTLP's numbers: 1 internal, 2 server, 3 client. */
  kind: number;
  attributes: Record<string, string | number>;
  links: { traceId: string; spanId: string }[];
  /** 2: an error. */
  status: number | undefined;
  /** The resource attributes of the process. */
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

/** A server that receives spans by OTLP over HTTP, as JSON. */
export class SpanReceiver {
  readonly receiver: Receiver;

  private constructor(receiver: Receiver) {
    this.receiver = receiver;
  }

  /** `plan`: its answers; by default it accepts everything. */
  static async start(plan?: () => Answer): Promise<SpanReceiver> {
    return new SpanReceiver(await Receiver.start(plan));
  }

  /** The value of OTEL_EXPORTER_OTLP_ENDPOINT. */
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
