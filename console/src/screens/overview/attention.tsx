import { Link } from '@tanstack/react-router';
import { TriangleAlert } from 'lucide-react';
import { useAttention, type Concern } from '../../api/attention.ts';
import { Panel } from '../../ui/parts.tsx';

const ROW = 'flex items-start gap-2 rounded px-1 py-1 hover:bg-hover max-md:min-h-11';

/** A concern, which leads to where it is mended. */
function Row({ of: { screen, webhookId, text, detail, isUrgent } }: { of: Concern }) {
  const tone = isUrgent ? 'text-danger' : 'text-warn';
  const shown = (
    <>
      <TriangleAlert size={15} aria-hidden className={`mt-0.5 shrink-0 ${tone}`} />
      <span className="min-w-0 break-words md:flex md:flex-wrap md:gap-x-2">
        <span className={`font-medium max-md:block ${tone}`}>{text}</span> <span className="text-muted">{detail}</span>
      </span>
    </>
  );
  return webhookId === null ? (
    <Link to={screen} className={ROW}>
      {shown}
    </Link>
  ) : (
    <Link to="/webhooks/$id" params={{ id: webhookId }} className={ROW}>
      {shown}
    </Link>
  );
}

/** What needs an administrator. Absent while nothing does. */
export function Attention() {
  const concerns = useAttention();
  if (concerns.length === 0) return null;
  return (
    <Panel title="Needs attention">
      <ul className="-mx-1 -my-1 flex flex-col">
        {concerns.map((concern) => (
          <li key={`${concern.screen} ${concern.text}`}>
            <Row of={concern} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}
