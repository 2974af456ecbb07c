import { AppError } from '../errors.ts';
import type { ExchangeContext } from './exchange-context.ts';
import type { Handler } from './paths.ts';
import type { Readiness } from './readiness.ts';
import { errorResponse, write, type Response } from './respond.ts';
import { requestIdOf } from './request-id.ts';
import type { HttpRequest, HttpResponse } from './uws.ts';

const ok = (status: string): Response => ({ status: 200, json: JSON.stringify({ status }) });

const withNotices = (response: Response, notices: readonly string[]): Response =>
  notices.length === 0
    ? response
    : { ...response, json: JSON.stringify({ ...(JSON.parse(response.json!) as object), notices }) };

const sentId = (req: HttpRequest): string => requestIdOf(req.getHeader('x-request-id'));

/** `/healthz`: the process is up. */
export const healthHandler =
  (context: ExchangeContext) =>
  (headOnly: boolean): Handler =>
  (res, req) =>
    write(res, ok('ok'), {
      head: headOnly,
      close: context.draining,
      requestId: sentId(req),
      cors: context.cors,
    });

interface Ready {
  readiness: Readiness;
  /** What is not served though the process is ready. */
  notices: () => readonly string[];
}

/** `/readyz`: 200, or 503 with what is missing, both with notices if there are any; 503 from the moment that draining begins. */
export const readyHandler =
  (context: ExchangeContext, ready: Ready) =>
  (headOnly: boolean): Handler =>
  (res, req) =>
    void answerReady(res, { context, ready, headOnly, requestId: sentId(req) });

async function answerReady(
  res: HttpResponse,
  {
    context,
    ready: { readiness, notices },
    headOnly,
    requestId,
  }: { context: ExchangeContext; ready: Ready; headOnly: boolean; requestId: string },
): Promise<void> {
  let aborted = false;
  res.onAborted(() => {
    aborted = true;
  });
  const missing = context.draining ? 'Shutting down' : await readiness().catch(() => 'Not ready');
  if (aborted) return;
  const sentence = context.draining ? 'Shutting down' : missing;
  const answer = sentence === null ? ok('ready') : errorResponse(new AppError('unavailable', sentence));
  const response = withNotices(answer, notices());
  write(res, response, { head: headOnly, close: context.draining, requestId, cors: context.cors });
}

/** `/metrics`: what `read` returns, in the Prometheus text format; 503 if it cannot be read now. */
export const metricsHandler =
  (context: ExchangeContext, read: () => Promise<string>) =>
  (headOnly: boolean): Handler =>
  (res, req) =>
    void answerMetrics(res, { context, read, headOnly, requestId: sentId(req) });

async function answerMetrics(
  res: HttpResponse,
  {
    context,
    read,
    headOnly,
    requestId,
  }: { context: ExchangeContext; read: () => Promise<string>; headOnly: boolean; requestId: string },
): Promise<void> {
  let aborted = false;
  res.onAborted(() => {
    aborted = true;
  });
  const text = await read().catch(() => null);
  if (aborted) return;
  const response: Response =
    text === null
      ? errorResponse(new AppError('unavailable', 'The metrics cannot be read now'))
      : { status: 200, json: text, contentType: 'text/plain; version=0.0.4; charset=utf-8' };
  write(res, response, { head: headOnly, close: context.draining, requestId, cors: context.cors });
}
