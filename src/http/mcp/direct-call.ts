import type { Span } from '@opentelemetry/api';
import type { Author } from '../../domain/administration/author.ts';
import { AppError } from '../../errors.ts';
import type { Answer, Call, Caller, Operation } from '../../operations/operation.ts';
import type { Services } from '../../engine/services.ts';
import { requireScope } from '../access/auth.ts';
import type { ExchangeContext } from '../exchange-context.ts';
import { decodeParam } from '../parameters.ts';
import { readIdempotencyKey } from '../request-head.ts';
import { notReady } from '../respond.ts';
import { routeOf, type Route } from '../route.ts';

/** Maximum characters of an answer. Larger ones are for programs, not for a conversation. */
const MOST = 262_144;

export interface CalledBy {
  caller: Caller;
  /** The `Tenant-ID` header. */
  tenantId: string | null;
  by: Author;
  span?: Span;
}

/** What a call names. Values are as in JSON. */
export interface Named {
  params: Readonly<Record<string, unknown>>;
  query: Readonly<Record<string, unknown>>;
  /** Undefined: no body. */
  body?: unknown;
  idempotencyKey?: string | null;
}

/** The answer of a direct call, as JSON text. */
interface DirectAnswer {
  status: number;
  text: string;
}

/**
 * Calls operations without a request of their own, on behalf of a request that was authenticated and counted. Every check of an exchange applies:
 * scope of the key, tenant, path, query, body and its size.
 */
export class DirectCalls {
  private readonly context: ExchangeContext;
  private readonly bodyBytes: number;
  private readonly routes = new Map<Operation, Route>();

  constructor(context: ExchangeContext, bodyBytes: number) {
    this.context = context;
    this.bodyBytes = bodyBytes;
  }

  /** The answer of an operation, with its errors. `services`: others for this call, for example some that store nothing. */
  async call(
    operation: Operation,
    named: Named,
    { calledBy, services = this.context.services }: { calledBy: CalledBy; services?: Services },
  ): Promise<DirectAnswer> {
    const call = await this.checked(operation, named, calledBy);
    const begunMs = performance.now();
    const answer = await operation.handle(services, call as Call<never, never, never>);
    const text = await textOf(answer);
    this.routeOf(operation).times.answered(answer.status, performance.now() - begunMs);
    return { status: answer.status, text };
  }

  /** The call of an operation, after every check that comes before its handler. Throws or rejects like them. */
  async checked(operation: Operation, named: Named, calledBy: CalledBy): Promise<Call<unknown, unknown, unknown>> {
    const { caller, tenantId, by, span } = calledBy;
    requireScope(operation, caller);
    const tenant = await this.context.resolveTenant({ scope: operation.scope, tenantId, caller });
    const route = this.routeOf(operation);
    const params = paramsOf(route, named.params);
    const query = route.readQuery?.(rawQuery(named.query));
    const body = this.body(route, named.body);
    if (operation.needsRedis && !this.context.isReady(operation.scope === 'tenant' ? tenant.no : null))
      throw notReady();
    const idempotencyKey = operation.idempotent ? readIdempotencyKey(named.idempotencyKey ?? null) : null;
    return { params, query, body, idempotencyKey, tenant, caller, by, ...(span && { span }) };
  }

  /** The tenant that a call of an operation is about; null if it is about none, or cannot be known. */
  async tenantNoOf({ scope }: Operation, { caller, tenantId }: CalledBy): Promise<number | null> {
    if (scope !== 'tenant') return null;
    try {
      return (await this.context.resolveTenant({ scope, tenantId, caller })).no;
    } catch {
      return null;
    }
  }

  private routeOf(operation: Operation): Route {
    let route = this.routes.get(operation);
    if (route === undefined) {
      const { bodyBytes, context } = this;
      route = routeOf(operation, operation.surface, { bodyBytes }, context.requests);
      this.routes.set(operation, route);
    }
    return route;
  }

  private body({ operation, checkBody, dropUnsent, bodyBytes }: Route, sent: unknown): unknown {
    if (checkBody === null) return undefined;
    if (sent === undefined && !operation.isBodyOptional) throw new AppError('invalid', 'body is required');
    const body = sent ?? {};
    if (Buffer.byteLength(JSON.stringify(body)) > bodyBytes)
      throw new AppError('payload_too_large', `The body must have at most ${bodyBytes} bytes`);
    dropUnsent(body);
    checkBody(body);
    return body;
  }
}

function paramsOf({ paramNames, checkParams }: Route, sent: Named['params']): Record<string, string> {
  const params: Record<string, string> = {};
  for (const name of paramNames) {
    const value = sent[name];
    if (typeof value !== 'string' || value === '') throw new AppError('invalid', `${name} is required`);
    params[name] = decodeParam(encodeURIComponent(value));
  }
  checkParams?.(params);
  return params;
}

/** The query as a client would write it: the schema's own reader then checks it. Throws 422 for values that no query can have. */
function rawQuery(query: Named['query']): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((one: unknown): [string, string] => {
      if (typeof one !== 'string' && typeof one !== 'number' && typeof one !== 'boolean')
        throw new AppError('unprocessable', `${name} must be text, a number, true or false, or a list of these`);
      return [name, String(one)];
    }),
  );
  return new URLSearchParams(pairs).toString();
}

/** The answer as JSON text. Throws 422 if it is too large, and stops reading it. */
async function textOf(answer: Answer): Promise<string> {
  if ('json' in answer) return answer.json;
  if ('body' in answer) return answer.body === undefined ? 'null' : JSON.stringify(answer.body);
  if (!('chunks' in answer)) throw new Error('The operation has no answer of JSON');
  let text = '';
  for await (const chunk of answer.chunks) {
    text += chunk;
    if (text.length > MOST) break;
  }
  if (text.length > MOST)
    throw new AppError('unprocessable', `The answer has more than ${MOST} characters. Call the operation over HTTP.`);
  return text;
}
