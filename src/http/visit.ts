import { AppError } from '../errors.ts';
import { networkOf } from './client-address.ts';
import type { ExchangeContext } from './exchange-context.ts';
import { readHead, requestIdOf } from './request-head.ts';
import { errorResponse, failureResponse, type Response, write } from './respond.ts';
import type { HttpRequest, HttpResponse } from './uws.ts';

/** A mail program sends one field. The content does not matter. */
const BODY_BYTES = 8_192;

/** A request of a page that links in e-mails lead to. Requests are limited by address like those for files. */
export class Visit {
  private readonly context: ExchangeContext;
  private readonly res: HttpResponse;
  private readonly headOnly: boolean;
  private readonly operation: string;
  private requestId = '';
  private aborted = false;

  /** @param how.operation name of the operation in the log */
  constructor(
    context: ExchangeContext,
    res: HttpResponse,
    { headOnly, operation }: { headOnly: boolean; operation: string },
  ) {
    this.context = context;
    this.res = res;
    this.headOnly = headOnly;
    this.operation = operation;
  }

  /** Answers after the body has arrived, if there is one. */
  begin(req: HttpRequest, answered: (token: string) => Promise<Response> | Response): void {
    const { context, res } = this;
    const { requestId: sentId, forwardedFor } = readHead(req);
    this.requestId = requestIdOf(sentId);
    const token = req.getParameter(0) ?? '';
    const isPost = req.getMethod() === 'post';
    res.onAborted(() => void (this.aborted = true));
    const refused = context.fileLimit?.(networkOf(res, forwardedFor, context.trustedProxies)) ?? null;
    if (refused !== null) return this.refuse(refused);
    if (!isPost) return void this.answer(token, answered);
    let received = 0;
    let isRefused = false;
    res.onData((chunk, isLast) => {
      received += chunk.byteLength;
      if (isRefused) return;
      if (received > BODY_BYTES) {
        isRefused = true;
        this.refuse(new AppError('payload_too_large', `The body may have at most ${BODY_BYTES} bytes`), true);
      } else if (isLast) void this.answer(token, answered);
    });
  }

  private async answer(token: string, answered: (token: string) => Promise<Response> | Response): Promise<void> {
    const { context, operation, requestId } = this;
    context.begun();
    try {
      this.write(await answered(token));
    } catch (error) {
      this.write(failureResponse(error, context, { operation, requestId }));
    } finally {
      context.ended();
    }
  }

  private refuse(error: AppError, close = false): void {
    this.context.requests.refused(error);
    this.write(errorResponse(error), close);
  }

  private write(response: Response, close = this.context.closes): void {
    if (this.aborted) return;
    write(this.res, response, { head: this.headOnly, close, requestId: this.requestId, cors: null });
  }
}
