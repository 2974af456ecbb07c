import { Code } from '../../ui/parts.tsx';
import type { TestWords } from './words.ts';

/** How tests ended, in words. Empty before. */
export const TestResults = ({ of }: { of: readonly (TestWords & { reason: string | null })[] }) => (
  <div role="status" className="flex flex-col gap-2 empty:hidden">
    {of.map(({ hasWorked, text, advice, reason }, at) => (
      <div
        // oxlint-disable-next-line react/no-array-index-key -- devices have no names, and the list never changes
        key={at}
        className={`rounded-md px-3 py-2 ${hasWorked ? 'bg-accent-soft text-accent-strong' : 'bg-danger-soft text-danger'}`}
      >
        {of.length > 1 && `Device ${at + 1}: `}
        <strong>{text}</strong> {advice}
        {reason !== null && (
          <p className="mt-1">
            The answer: <Code>{reason}</Code>
          </p>
        )}
      </div>
    ))}
  </div>
);
