import { AppError } from '../errors.ts';
import type { ExchangeContext } from './exchange-context.ts';
import type { Handler } from './paths.ts';
import { requestIdOf } from './request-head.ts';
import { errorResponse, type Response, write } from './respond.ts';
import type { HttpRequest, HttpResponse } from './uws.ts';

const ok = (status: string): Response => ({ status: 200, json: JSON.stringify({ status }) });

const withLists = (response: Response, lists: Readonly<Record<string, readonly string[]>>): Response => {
  const added = Object.entries(lists).filter(([, list]) => list.length > 0);
  const body = { ...(JSON.parse(response.json!) as object), ...Object.fromEntries(added) };
  return { ...response, json: JSON.stringify(body) };
};

const sentId = (req: HttpRequest): string => requestIdOf(req.getHeader('x-request-id'));

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
  readiness: () => Promise<Readiness>;
  /** Sentences about what is not served although the process is ready. */
  notices: () => readonly string[];
}

/** `/readyz`: 200, or 503 with what is missing or while draining. */
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
  const { missing, degraded }: Readiness = context.draining ? { missing: [], degraded: [] } : await readiness();
  if (aborted) return;
  const isReady = missing.length === 0 && !context.draining;
  const sentence = context.draining ? 'Shutting down' : `Not ready: ${missing.join(', ')}`;
  const answer = isReady ? ok('ready') : errorResponse(new AppError('unavailable', sentence));
  const response = withLists(answer, { degraded, notices: notices() });
  write(res, response, { head: headOnly, close: context.draining, requestId, cors: context.cors });
}

/** `/metrics`: the result of `read` in the Prometheus text format; 503 if it is not available. */
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

export interface ReadinessCheck {
  /** Rejects if the dependency is not healthy. A timeout counts as not healthy. */
  check: () => Promise<unknown>;
  /** Whether events cannot be accepted without it. Otherwise the process is only degraded. */
  needed: boolean;
}

/** Dependencies of this process that are not healthy, by the names of their checks. */
export interface Readiness {
  /** Without these, events cannot be accepted, and the process is not ready. */
  missing: readonly string[];
  /** Without these, some requests are refused or take longer. */
  degraded: readonly string[];
}

/** Runs the checks concurrently, each up to `timeoutMs`. Names failed checks without reasons. Never rejects. */
export function createReadiness(
  checks: Readonly<Record<string, ReadinessCheck>>,
  timeoutMs = 2_000,
): () => Promise<Readiness> {
  const names = Object.keys(checks);
  let running: Promise<Readiness> | null = null;
  const run = async (): Promise<Readiness> => {
    const well = await Promise.all(names.map((name) => passes(checks[name]!.check, timeoutMs)));
    const failed = names.filter((_, i) => !well[i]);
    return {
      missing: failed.filter((name) => checks[name]!.needed),
      degraded: failed.filter((name) => !checks[name]!.needed),
    };
  };
  return () => (running ??= run().finally(() => (running = null)));
}

async function passes(check: ReadinessCheck['check'], timeoutMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  try {
    return await Promise.race([check().then(() => true), late]);
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}
