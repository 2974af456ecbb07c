import { ArrowLeft } from 'lucide-react';
import { useShow } from './controls.tsx';

/** A link to one resource of a list. */
export function Chosen({ id, name }: { id: string; name: string }) {
  const show = useShow();
  return (
    <button type="button" className="text-left font-medium text-accent hover:underline" onClick={() => show({ id })}>
      {name}
    </button>
  );
}

/** The name of the shown resource, and a link back to the list. */
export function Back({ to, name }: { to: string; name: string }) {
  const show = useShow();
  return (
    <h2 className="flex flex-wrap items-center gap-2 text-base font-semibold">
      <button
        type="button"
        className="inline-flex h-9 items-center gap-1 font-normal text-muted hover:text-text max-md:h-11"
        onClick={() => show({ id: undefined })}
      >
        <ArrowLeft size={14} aria-hidden /> {to}
      </button>
      {name}
    </h2>
  );
}
