import fc from 'fast-check';
import type { Operation } from '../../src/operations/operation.ts';
import { fitting, garbage, nearly, type Known } from './from-schema.ts';

export interface HostileRequest {
  operation: string;
  surface: Operation['surface'];
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | null;
}

type Schemas = Parameters<typeof fitting>[0];

const encoded = (value: unknown): string => {
  try {
    return encodeURIComponent(String(value));
  } catch {
    // A lone surrogate cannot be encoded; its bytes are sent instead.
    return '%ED%A0%80';
  }
};

const HEADER_VALUE = fc.string({ maxLength: 300 }).map((text) => text.replaceAll(/[^\x20-\x7e]/g, '?'));
const AWKWARD_SEGMENTS = ['..', '.', '%', '%zz', '%FF', '%00', '%2F', 'a'.repeat(2_000), '*'];

/** `key` of `/v1/metrics/{key}/event` is one of `metrics key`: the preceding segment says what a parameter names. */
const paramKind = (path: string, name: string): string => {
  const parts = path.split('/');
  return `${parts[parts.indexOf(`{${name}}`) - 1]} ${name}`;
};

/** Requests to one operation: valid, nearly valid, or garbage in one or more parts. */
export function requestsTo(operation: Operation, known: Known): fc.Arbitrary<HostileRequest> {
  const params = (operation.params ?? null) as Schemas | null;
  const query = (operation.query ?? null) as Schemas | null;
  const body = (operation.body ?? null) as Schemas | null;
  return fc
    .record({
      template: fc.constantFrom(operation.path, ...operation.aliases),
      params: params === null ? fc.constant({}) : fitting(params, (name) => known(paramKind(operation.path, name))),
      segment: often(null, fc.constantFrom(...AWKWARD_SEGMENTS), 20),
      query:
        query === null ? often({}, fc.dictionary(fc.string(), fc.string(), { maxKeys: 2 }), 9) : either(query, known),
      rawQuery: often(null, fc.string({ maxLength: 60 }), 20),
      body: body === null ? often(null, garbage, 9) : bodies(body, known),
      method: often(
        operation.method.toUpperCase(),
        fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'),
        30,
      ),
      contentType: often(
        'application/json',
        fc.constantFrom('application/json; charset=utf-8', 'text/plain', '', 'application/xml'),
        30,
      ),
      tenantId: often('acme', fc.constantFrom(null, 'nobody', ''), 8),
      idempotencyKey: often(null, fc.oneof(HEADER_VALUE, fc.constantFrom('a', 'b', '')), 3),
    })
    .map((made) => {
      const values = made.params as Record<string, unknown>;
      const filled = made.template.replaceAll(
        /\{(\w+)\}/g,
        (_, name: string) => made.segment ?? (encoded(values[name]) || 'x'),
      );
      const pairs = Object.entries(made.query as Record<string, unknown>).flatMap(([name, value]) =>
        (Array.isArray(value) ? value : [value]).map((one) => `${encoded(name)}=${encoded(one)}`),
      );
      const search = made.rawQuery === null ? pairs.join('&') : made.rawQuery.replaceAll(/[^\x21-\x7e]|#/g, '+');
      return {
        operation: operation.id,
        surface: operation.surface,
        method: made.method,
        path: search === '' ? filled : `${filled}?${search}`,
        headers: {
          ...(made.body !== null && made.contentType !== '' && { 'content-type': made.contentType }),
          ...(made.tenantId !== null && { 'tenant-id': made.tenantId }),
          ...(made.idempotencyKey !== null && { 'idempotency-key': made.idempotencyKey }),
        },
        body: made.method === 'GET' || made.method === 'HEAD' ? null : made.body,
      };
    });
}

/** A value; one time in `times` something else. */
const often = <T, O>(value: T, other: fc.Arbitrary<O>, times: number): fc.Arbitrary<T | O> =>
  fc.oneof({ weight: times - 1, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: other });

const either = (schema: Schemas, known: Known): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 3, arbitrary: fitting(schema, known) },
    nearly(schema, known).map((value) => Object(value)),
  );

const bodies = (schema: Schemas, known: Known): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 5, arbitrary: fitting(schema, known).map((value) => JSON.stringify(value)) },
    { weight: 4, arbitrary: nearly(schema, known).map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: garbage },
  );
