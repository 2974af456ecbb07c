import type { Span } from '@opentelemetry/api';
import type { Traces, WorkSpan } from './traces.ts';

/** Does work in a root span if it is sampled. Its error is recorded by class, and rethrown. */
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

export const problemOf = (error: unknown): string => (error instanceof Error ? error.name : 'unknown');

/** The span of a script call, according to the semantic conventions for databases. `events`: number of events in the call. */
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
