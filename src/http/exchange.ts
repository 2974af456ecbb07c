import type { Span } from '@opentelemetry/api';
import { AppError, CLIENT_GONE } from '../errors.ts';
import type { LiveAdmission } from '../engine/live/streams.ts';
import { BODY_BYTES, NOBODY, type Answer, type Call, type Caller, type Tenant } from '../operations/operation.ts';
import type { StaticFile } from '../operations/static-file.ts';
import { countOpening, requireOwnUser, requireScope } from './access/auth.ts';
import { BodyReader, parseJson, parseLargeJson, requireJsonType, requirePlain } from './json-body.ts';
import type { ExchangeContext } from './exchange-context.ts';
import { KeyRefusal } from './access/key-refusal.ts';
import { decodeParam } from './parameters.ts';
import {
  framingFault,
  readHead,
  readIdempotencyKey,
  type RequestHead,
  requestIdOf,
  sizeFault,
} from './request-head.ts';
import type { From } from './access/admission.ts';
import { Lingering } from './lingering.ts';
import { openEventStream } from './live-connections.ts';
import { noteRequest } from './noted-request.ts';
import { failureResponse, notReady, type Response, streamJson, write } from './respond.ts';
import type { Route } from './route.ts';
import { Sender, UNRECORDED } from './sender.ts';
import { fileRequest, type FileRequest, sendFile } from './pages.ts';
import { strictnessOf } from './adapted-answer.ts';
import { type Bill, STORED_MS, storedMs } from '../pacing/turns.ts';
import type { HttpRequest, HttpResponse } from './uws.ts';

/**
 * One request and its response. Checks run in this order: overload (`refused-at-once.ts`), framing, key, rate limit, tenant, overload of a sender
 * who was unknown before, path (including its user), query, media type, body (its user last). The body is read during the key's lookup, because uWS discards unread data, but it is examined only afterwards. After
 * an abort nothing uses the response any more. A running handler continues to its end, or learns from its call that the client is
 * gone.
 */
export class Exchange {
  private readonly context: ExchangeContext;
  private readonly route: Route;
  private readonly res: HttpResponse;
  private readonly headOnly: boolean;
  private head!: RequestHead;
  private sender!: Sender;
  private rawQuery = '';
  private readonly rawParams: string[] = [];
  private body: BodyReader | null = null;
  /** Set once the key and the tenant are accepted. */
  private admitted: { tenantNo: number; caller: Caller } | null = null;
  /** Who sends it, and the tenant that is charged; set with `admitted`. */
  private from: From | null = null;
  /** Whether it is counted in its queue. */
  private isQueued = false;
  /** Set once the caller is admitted. */
  private call: Call<unknown, unknown, unknown> | null = null;
  /** Set once the request takes turns. */
  private bill: Bill | null = null;
  /** Whether its first turn has begun, and its lane does not know of its end yet. */
  private running = false;
  /** Rate limit headers of the answer. */
  private rateHeaders: Readonly<Record<string, string>> | null = null;
  private requestId: string | null = null;
  /** Set if the request is sampled. */
  private span: Span | null = null;
  private readonly begunMs = performance.now();
  private received = false;
  private handling = false;
  private aborted = false;
  private responded = false;
  private lastEventId: string | null = null;
  /** Of those that the operation reads. */
  private headers: Record<string, string> | null = null;
  private fileRequest: FileRequest | null = null;
  /** Set for a body that is too large. */
  private lingering: Lingering | null = null;
  /** Informs a live stream that the connection is gone. */
  private streamGone: (() => void) | null = null;
  /** Resumes a chunked answer that waits for the connection. */
  private wake: (() => void) | null = null;

  constructor(
    context: ExchangeContext,
    { route, res, headOnly }: { route: Route; res: HttpResponse; headOnly: boolean },
  ) {
    this.context = context;
    this.route = route;
    this.res = res;
    this.headOnly = headOnly;
  }

  /** Reads everything from the request that uWS invalidates when this returns. */
  begin(req: HttpRequest): void {
    const { route, res, context } = this;
    context.begun();
    res.onAborted(() => this.abort());
    this.head = readHead(req);
    for (let i = 0; i < route.paramNames.length; i += 1) this.rawParams.push(req.getParameter(i) ?? '');
    // Undefined without a `?`, despite the declared type.
    if (route.readQuery) this.rawQuery = (req.getQuery() as string | undefined) ?? '';
    if (context.traces !== null) this.span = context.traces.request(route.traced, req.getHeader('traceparent'));
    this.sender = new Sender(context, { operation: route.operation, req, res, head: this.head });
    if (route.operation.file !== null) this.fileRequest = fileRequest(req, this.headOnly);
    if (route.operation.opensStream) this.lastEventId = req.getHeader('last-event-id') || null;
    if (route.operation.headers.length > 0) this.headers = readHeaders(req, route.operation.headers);
    const fault = framingFault(this.head) ?? sizeFault(req, this.head.bytes);
    if (fault) return this.respond(this.failure(fault), true);
    if (route.checkBody) {
      // A body that is declared too large is not kept during the key's lookup.
      this.body = new BodyReader(this.declaredTooLarge() ? 0 : route.bodyBytes);
      res.onData((chunk, isLast) => this.data(chunk, isLast));
    } else this.received = true;
    this.authenticate();
  }

  private authenticate(): void {
    try {
      const caller = this.sender.authenticated();
      if (caller instanceof Promise) caller.then((found) => this.admit(found), this.fail);
      else this.admit(caller);
    } catch (error) {
      this.fail(error);
    }
  }

  private admit(caller: Caller): void {
    if (this.aborted) return;
    const { context, head } = this;
    const { operation } = this.route;
    try {
      if (caller.kind === 'application' && context.surface === 'admin' && caller !== NOBODY)
        throw new KeyRefusal('surface', {
          prefix: caller.prefix,
          message: 'An application key cannot be used on the admin API',
          hint: 'Use an admin key here, or this key on the application port.',
        });
      if (context.rateLimit) this.rateHeaders = context.rateLimit(caller);
      requireScope(operation, caller);
      const tenant = context.resolveTenant({ scope: operation.scope, tenantId: head.tenantId, caller });
      if (tenant instanceof Promise) tenant.then((found) => this.admitTo(found, caller), this.fail);
      else this.admitTo(tenant, caller);
    } catch (error) {
      this.fail(error);
    }
  }

  private admitTo(tenant: Tenant, caller: Caller): void {
    if (this.aborted) return;
    this.admitted = { tenantNo: tenant.no, caller };
    this.from = { tenantNo: caller.tenantNo ?? tenant.no, prefix: caller.prefix };
    const overloaded = this.context.admission.refusal(this.route.queue, this.from, this.begunMs);
    if (overloaded !== null) return this.fail(overloaded);
    const { head, body } = this;
    const { operation, checkBody, readQuery, userInPath } = this.route;
    try {
      const params = this.params();
      operation.admits?.(this.context.services, params as never);
      if (userInPath) requireOwnUser(operation, { params, caller });
      const query = readQuery ? readQuery(this.rawQuery) : undefined;
      const idempotencyKey = operation.idempotent ? readIdempotencyKey(head.idempotencyKey) : null;
      if (checkBody) {
        if (body?.overflowed || this.declaredTooLarge()) return this.linger();
        const empty = head.transferEncoding === null && Number(head.contentLength) === 0;
        if (!empty || head.contentType !== null) requireJsonType(head.contentType);
        requirePlain(head.contentEncoding);
      }
      const by = operation.audited ? this.sender.author(caller, this.id()) : UNRECORDED;
      this.call = { params, query, body: undefined, idempotencyKey, tenant, caller, by };
      if (operation.opensStream) {
        this.call.lastEventId = this.lastEventId;
        this.call.countOpening = (grant) => void (this.rateHeaders = countOpening(this.context, grant));
      }
      if (this.headers !== null) this.call.headers = this.headers;
      if (this.span !== null) this.call.span = this.span;
    } catch (error) {
      return this.fail(error);
    }
    if (this.received) this.run();
  }

  private declaredTooLarge(): boolean {
    return Number(this.head.contentLength) > this.route.bodyBytes;
  }

  private id(): string {
    return (this.requestId ??= requestIdOf(this.head.requestId));
  }

  private failure(error: unknown): Response {
    return failureResponse(error, this.context, {
      operation: this.route.operation.id,
      requestId: this.id(),
      ...(this.span && { traceId: this.span.spanContext().traceId }),
    });
  }

  private params(): unknown {
    const { paramNames, checkParams } = this.route;
    const params: Record<string, string> = {};
    for (let i = 0; i < paramNames.length; i += 1) params[paramNames[i]!] = decodeParam(this.rawParams[i]!);
    checkParams?.(params);
    return params;
  }

  private data(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.responded) return;
    const body = this.body!;
    body.push(chunk, isLast);
    if (isLast) this.received = true;
    if (this.lingering !== null) return this.linger();
    if (!this.call) return;
    if (body.overflowed) this.linger();
    else if (isLast) this.run();
  }

  /** Runs when the caller is admitted and the body is complete: at once, or when it is its turn. */
  private run(): void {
    const { route, begunMs } = this;
    const { shares } = this.context;
    const { caller } = this.admitted!;
    const { tenantNo } = this.from!;
    this.context.admission.enter(route.queue, this.from!);
    this.isQueued = true;
    shares.note(tenantNo, begunMs);
    if (route.operation.runsAtOnce === null || !shares.isAtOnce(caller, tenantNo, begunMs))
      return this.waitTurn(() => this.read());
    const measured = shares.measures();
    if (measured === 0) return this.read();
    const sinceMs = performance.now();
    this.read();
    const ms = (performance.now() - sinceMs) * measured;
    const account = shares.of(caller, tenantNo);
    account.charge(ms);
    account.chargeUser(STORED_MS * measured);
    route.cost.loopMs += ms;
    route.cost.storageMs += STORED_MS * measured;
  }

  /** Goes on in turns of the caller. */
  private waitTurn(work: () => void): void {
    const account = this.context.shares.of(this.admitted!.caller, this.from!.tenantNo);
    try {
      account.requireRoom();
    } catch (error) {
      return this.fail(error);
    }
    const bill = account.bill(this.route);
    this.bill = bill;
    bill.lane.start(bill, () => {
      if (this.aborted) return bill.lane.ended();
      this.running = true;
      try {
        account.requireTime();
      } catch (error) {
        return this.fail(error);
      }
      work();
    });
  }

  /** Ends the count of this exchange. `isDone`: its request was processed. */
  private ended(isDone: boolean): void {
    this.context.ended();
    if (this.isQueued) this.context.admission.leave(this.route.queue, this.from!, isDone);
    if (!this.running) return;
    this.running = false;
    this.bill!.lane.ended();
  }

  private read(): void {
    if (this.body === null) return this.handle();
    try {
      const text = this.body.text();
      if (text.length > BODY_BYTES)
        return void parseLargeJson(text)
          .then((value) => this.runWith(value, text))
          .catch(this.fail);
      const isLeftOut = text === '' && this.route.operation.isBodyOptional;
      this.runWith(isLeftOut ? {} : parseJson(text), text);
    } catch (error) {
      this.fail(error);
    }
  }

  private runWith(body: unknown, text: string): void {
    // A large body was parsed in slices, so the client may have disconnected meanwhile.
    if (this.aborted) return;
    const { checkBody, dropUnsent } = this.route;
    if (text.includes('null')) dropUnsent(body);
    checkBody!(body);
    this.call!.body = body;
    if (this.bill === null && !this.route.operation.runsAtOnce!(body as never)) this.waitTurn(() => this.handle());
    else this.handle();
  }

  private handle(): void {
    const { operation } = this.route;
    const call = this.call!;
    let answer: Promise<Answer>;
    try {
      requireOwnUser(operation, call);
      const about = operation.scope === 'tenant' ? call.tenant.no : null;
      if (operation.needsRedis && !this.context.isReady(about)) throw notReady();
      // HEAD must not consume the ticket, which opens one stream.
      if (this.headOnly && operation.opensStream && 200 in operation.responses)
        return this.respond({ status: 200, json: null }, false);
      const refused = operation.file === null ? null : this.context.fileLimit?.(this.sender.network());
      if (refused) throw refused;
      this.handling = true;
      answer = operation.handle(this.context.services, call as Call<never, never, never>);
    } catch (error) {
      return this.fail(error);
    }
    answer.then((given) => this.answer(given)).catch(this.fail);
  }

  private answer(answer: Answer): void | Promise<void> {
    if ('chunks' in answer) return this.stream(answer.chunks);
    if ('stream' in answer) return this.openStream(answer.stream);
    if ('file' in answer) return this.sendFile(answer.file);
    if (this.call!.stateBytes !== undefined) this.chargeState(this.call!.stateBytes);
    const response: Response = { status: answer.status, json: this.written(answer) };
    if ('session' in answer && answer.session !== undefined) response.headers = this.sender.cookie(answer.session);
    this.respond(response, false);
  }

  /** Charges the caller for the storage of a large state. */
  private chargeState(bytes: number): void {
    const ms = storedMs(bytes);
    this.context.shares.chargeEvent(this.admitted!.caller, this.from!.tenantNo, ms);
    this.route.cost.storageMs += ms;
  }

  /** The answer as JSON text, adapted to the client. */
  private written(
    answer: Exclude<Answer, { chunks: unknown } | { stream: unknown } | { file: unknown }>,
  ): string | null {
    const { writeAdapted } = this.route;
    const client = writeAdapted === null ? null : strictnessOf(this.head, this.context.boardValues());
    if (client !== null) return writeAdapted!(answer, client);
    if ('json' in answer) return answer.json;
    return answer.body === undefined ? null : JSON.stringify(answer.body);
  }

  private async stream(chunks: AsyncIterator<string>): Promise<void> {
    const { context, res } = this;
    await streamJson(res, chunks, {
      to: { aborted: () => this.aborted, onAbort: (wake) => void (this.wake = wake) },
      head: this.headOnly,
      headers: { 'X-Request-Id': this.id(), ...context.cors, ...this.rateHeaders },
      closes: () => context.closes,
      failed: (error) => void this.failure(error),
    });
    this.responded = true;
    this.ended(true);
    this.observe(200);
  }

  /** Hands the connection over to the stream. A server that shuts down ends streams itself and does not wait for them. */
  private openStream(admission: LiveAdmission): void {
    const { context, res } = this;
    this.responded = true;
    this.ended(true);
    this.observe(200);
    if (this.aborted) return admission.cancel();
    this.streamGone = openEventStream(res, admission, {
      'X-Request-Id': this.id(),
      ...context.cors,
      ...this.rateHeaders,
    });
  }

  private sendFile(file: StaticFile): void {
    const { context, res } = this;
    this.responded = true;
    this.ended(true);
    if (this.aborted) return this.observe(200);
    const headers = { 'X-Request-Id': this.id(), ...context.cors };
    this.observe(sendFile(res, file, { request: this.fileRequest!, headers, closes: context.closes }));
  }

  private readonly fail = (error: unknown): void => {
    if (error === CLIENT_GONE) return this.abandon();
    this.respond(this.failure(this.sender.refused(error)), false);
  };

  private respond(response: Response, close: boolean): void {
    if (this.responded) return;
    this.responded = true;
    this.ended(response.status < 400);
    this.observe(response.status, response.refusal);
    if (this.rateHeaders) response.headers = { ...this.rateHeaders, ...response.headers };
    if (!this.aborted)
      write(this.res, response, {
        head: this.headOnly,
        close: close || this.context.closes,
        requestId: this.id(),
        cors: this.context.cors,
      });
  }

  private abort(): void {
    this.streamGone?.();
    if (this.responded || this.aborted) return;
    this.aborted = true;
    this.lingering?.stop();
    this.sender.gone();
    this.wake?.();
    if (this.call !== null) this.call.isGone = true;
    if (!this.handling) this.abandon();
  }

  /** Ends an exchange whose client disconnected before anything was done. */
  private abandon(): void {
    this.responded = true;
    this.ended(false);
    this.route.times.abandoned(performance.now() - this.begunMs);
    if (this.span !== null) this.context.traces!.abandoned(this.span);
  }

  private observe(status: number, refusal?: AppError): void {
    this.route.times.answered(status, performance.now() - this.begunMs);
    if (this.span !== null) this.context.traces!.answered(this.span, status, this.id());
    if (this.admitted === null) return;
    const { rawParams, begunMs } = this;
    noteRequest(this.context, this.route, {
      ...this.admitted,
      rawParams,
      status,
      ms: performance.now() - begunMs,
      refusal,
    });
  }

  /** Answers 413, after a while. */
  private linger(): void {
    this.lingering ??= new Lingering(() => {
      const text = `The body must have at most ${this.route.bodyBytes} bytes`;
      this.respond(this.failure(new AppError('payload_too_large', text)), true);
    });
    this.lingering.received(this.received);
  }
}

const readHeaders = (req: HttpRequest, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, req.getHeader(name)]).filter(([, value]) => value !== ''));
