import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Lightbulb, TriangleAlert } from 'lucide-react';
import { useState } from 'react';
import { answer } from '../../api/answer.ts';
import { useAttention } from '../../api/attention.ts';
import { admin } from '../../api/client.ts';
import { Panel } from '../../ui/parts.tsx';

/** What the server found, and where it is mended. */
interface Finding {
  text: string;
  advice: string;
  screen: string;
  /** Absent for advice. */
  urgent?: boolean;
}

/** A finding, which leads to where it is mended. */
function Row({ of: { screen, text, advice, urgent } }: { of: Finding }) {
  const [to, hash] = screen.split('#');
  const Icon = urgent === undefined ? Lightbulb : TriangleAlert;
  const tone = urgent === undefined ? '' : urgent ? 'text-danger' : 'text-warn';
  return (
    <Link
      to={to as '/'}
      {...(hash !== undefined && { hash })}
      className="flex items-start gap-2 rounded px-1 py-1 hover:bg-hover max-md:min-h-11"
    >
      <Icon size={15} aria-hidden className={`mt-0.5 shrink-0 ${tone || 'text-muted'}`} />
      <span className="min-w-0 break-words md:flex md:flex-wrap md:gap-x-2">
        <span className={`font-medium max-md:block ${tone}`}>{text}</span> <span className="text-muted">{advice}</span>
      </span>
    </Link>
  );
}

const Rows = ({ of }: { of: readonly Finding[] }) => (
  <ul className="-mx-1 -my-1 flex flex-col">
    {of.map((finding) => (
      <li key={`${finding.screen} ${finding.text}`}>
        <Row of={finding} />
      </li>
    ))}
  </ul>
);

/** What needs an administrator. Absent while nothing does. */
export function Attention() {
  const concerns = useAttention();
  if (concerns.length === 0) return null;
  return (
    <Panel title="Needs attention">
      <Rows of={concerns} />
    </Panel>
  );
}

const ADVICE_MS = 600_000;
const MOST_SHOWN = 4;

/** What could be better. Absent while there is nothing to say. */
export function Advice() {
  const found =
    useQuery({
      queryKey: ['advice'],
      refetchInterval: ADVICE_MS,
      queryFn: () => answer(admin.GET('/v1/advice')),
    }).data ?? [];
  const [isOpen, setOpen] = useState(false);
  if (found.length === 0) return null;
  return (
    <Panel
      title="What to do next"
      actions={
        found.length > MOST_SHOWN && (
          <button type="button" className="text-accent underline" onClick={() => setOpen(!isOpen)}>
            {isOpen ? 'Show less' : `Show all ${found.length}`}
          </button>
        )
      }
    >
      <Rows of={isOpen ? found : found.slice(0, MOST_SHOWN)} />
    </Panel>
  );
}
