/** Spans of work and of script calls. Does not load OpenTelemetry. */
import type { Span } from '@opentelemetry/api';
import type { Traces, WorkSpan } from './traces.ts';

/**
 * Does work in a span that begins a trace, where there are traces and this one is sampled; else it just does the work. `work` may
 * say more of it on the span. An error of the work is one of the span, by its class, and is passed on.
 */
export async function around<T>(
  traces: Traces | null,
  what: WorkSpan,
  work: (span: Span | null) => Promise<T>,
): Promise<T> {
  const span = traces === null ? null : traces.root(what);
  if (span === null) return work(null);
  try {
    const result = await work(span);
    traces!.ended(span);
    return result;
  } catch (error) {
    traces!.ended(span, problemOf(error));
    throw error;
  }
}

/** What an error is, in one word: its message may hold what a client sent. */
export const problemOf = (error: unknown): string => (error instanceof Error ? error.name : 'unknown');

/** The span of a call of a script, by the semantic conventions for databases; `events`: how many it carries. */
export const scriptSpan = (script: { file: string; name: string }, events?: number): WorkSpan => ({
  name: script.file,
  isCall: true,
  attributes: () => ({
    'db.system.name': 'redis',
    'db.operation.name': 'FCALL',
    'db.stored_procedure.name': script.name,
    ...(events !== undefined && { 'laurel.events': events }),
  }),
});
