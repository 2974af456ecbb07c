export const Logo = ({ size = 20 }: { size?: number }) => (
  <svg
    width={size}
    height={size}
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    strokeWidth="2"
    strokeLinecap="round"
    className="text-accent"
    aria-hidden
  >
    <path d="M12 21V9" />
    <path d="M12 21c-5 0-8-3.500-8-8.500C4 9 5 6 7 4c0 3 1.500 4.500 3 6" />
    <path d="M12 21c5 0 8-3.500 8-8.500C20 9 19 6 17 4c0 3-1.500 4.500-3 6" />
  </svg>
);
