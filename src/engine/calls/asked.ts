import type { Span } from '@opentelemetry/api';
import type { Author } from '../../domain/author.ts';

/** A request as the engine knows it: who makes it, and its span where it is sampled. */
export interface Asked {
  by: Author;
  span?: Span | undefined;
}
